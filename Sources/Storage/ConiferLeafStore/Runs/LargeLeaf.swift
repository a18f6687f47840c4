package import ConiferKeyValue

/// Leaves above 256 KiB, stored in chunks outside their run.
///
/// Each write of a large leaf has its own number; an equal write is recognised by comparing the
/// content. Key: tree, number, chunk in four bytes. Payload: method, bytes before compression,
/// packed bytes.
package enum LargeLeaf {
  /// A leaf whose encoding is longer is stored in chunks of this size.
  package static let threshold = 256 << 10

  package static func prefix(_ tree: TreeID, _ number: UInt64) -> Bytes {
    StoreKey.prefix(tree) + StoreKey.number(number)
  }

  private static func key(_ tree: TreeID, _ number: UInt64, chunk: Int) -> Bytes {
    var writer = ByteWriter(prefix(tree, number))
    writer.bigEndian(UInt64(chunk), bytes: 4)
    return writer.bytes
  }

  /// A new entry. It gets the number of the entry that it replaces when their contents are equal,
  /// otherwise a number that was never used.
  package static func numbered(
    _ entry: Entry, _ content: Bytes, replacing old: Entry?, _ editor: RunEditor
  ) throws(StoreError) -> Entry {
    guard let reference = LargeLeafReference(entry.value) else { return entry }
    let number: UInt64
    if let known = try known(content, old, editor.reader) {
      number = known
    } else {
      number = try fresh(editor.tx, editor.tree)
    }
    return Entry(key: entry.key, value: reference.numbered(number).value, content: content)
  }

  /// The number of an entry with the same content.
  private static func known(
    _ content: Bytes, _ old: Entry?, _ reader: RunReader
  ) throws(StoreError) -> UInt64? {
    guard let old, let reference = LargeLeafReference(old.value), reference.count == content.count
    else { return nil }
    // Unreadable chunks are replaced.
    let stored = try undamaged { () throws(StoreError) in try read(reader, reference) }
    return stored == content ? reference.number : nil
  }

  /// A number that no chunks have: older stores used hashes as numbers.
  private static func fresh(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) -> UInt64 {
    while true {
      let number = try tx.nextRunNumber(tree)
      let chunks = try tx.keys(Spaces.chunks, prefix: prefix(tree, number), limit: 1)
      if chunks.isEmpty { return number }
    }
  }

  package static func write(
    _ tx: LeafTransaction, _ tree: TreeID, _ entry: Entry
  ) throws(StoreError) {
    guard let content = entry.content, let number = number(entry) else { return }
    for (chunk, start) in stride(from: 0, to: content.count, by: threshold).enumerated() {
      let body = Bytes(content[start..<min(start + threshold, content.count)])
      let (method, packed) = tx.leaves.codec.pack(body)
      var writer = ByteWriter()
      writer.byte(method.rawValue)
      writer.varint(body.count)
      writer.append(packed)
      try tx.put(Spaces.chunks, key(tree, number, chunk: chunk), payload: writer.bytes)
    }
    try tx.countTree(tree, leaves: 0, raw: RawBytes(largeLeaves: content.count))
  }

  package static func delete(_ tx: LeafTransaction, _ tree: TreeID, _ entry: Entry)
    throws(StoreError)
  {
    guard let reference = LargeLeafReference(entry.value) else { return }
    try tx.deleteAll(Spaces.chunks, prefix: prefix(tree, reference.number))
    try tx.countTree(tree, leaves: 0, raw: -RawBytes(largeLeaves: reference.count))
  }

  /// The number of the chunks that an entry refers to, or nil when it holds its leaf itself.
  package static func number(_ entry: Entry) -> UInt64? {
    entry.isLargeLeaf ? LargeLeafReference(entry.value)?.number : nil
  }

  /// The encoding of the leaf that chunks hold together.
  package static func read(
    _ reader: RunReader, _ reference: LargeLeafReference
  ) throws(StoreError) -> Bytes {
    var content = Bytes()
    let (count, prefix) = (reference.count, prefix(reader.tree, reference.number))
    for (key, value) in try reader.view.entries(Spaces.chunks, prefix: prefix) {
      var chunk = ByteReader(value, from: Record.overhead)
      guard Record.isIntact(Spaces.chunks, key, value), let method = chunk.byte(),
        let rawCount = chunk.size(), let packed = chunk.take(chunk.remaining),
        let body = try reader.leaves.codec.unpack(Codec.method(method), packed, rawCount: rawCount)
      else { throw Damage.error(Spaces.chunks, key) }
      content += body
      guard content.count <= count else { throw Damage.error(Spaces.chunks, prefix) }
    }
    guard content.count == count else { throw Damage.error(Spaces.chunks, prefix) }
    return content
  }
}

/// The entry's value for a leaf that is stored in chunks: their number, the length of the leaf's
/// encoding, and then the rest of the value, such as the leaf's priority.
package struct LargeLeafReference: Equatable {
  package let number: UInt64
  package let count: Int
  /// What follows, with its tag; empty when nothing does.
  package let rest: Bytes

  package init(number: UInt64, count: Int, rest: Bytes) {
    self.number = number
    self.count = count
    self.rest = rest
  }

  /// The reference that a value is, or nil when it is none.
  package init?(_ value: Bytes) {
    var reader = ByteReader(value)
    guard let tag = reader.byte(), tag & ~ValueTag.priorityFlag == ValueTag.largeLeaf,
      let number = reader.varint(), let count = reader.size()
    else { return nil }
    self.number = number
    self.count = count
    rest = reader.take(reader.remaining) ?? []
  }

  /// This reference with another number.
  package func numbered(_ number: UInt64) -> LargeLeafReference {
    LargeLeafReference(number: number, count: count, rest: rest)
  }

  package var value: Bytes {
    var writer = ByteWriter()
    writer.byte(ValueTag.largeLeaf | (rest.isEmpty ? 0 : ValueTag.priorityFlag))
    writer.varint(number)
    writer.varint(count)
    writer.append(rest)
    return writer.bytes
  }
}
