import ConiferKeyValue
import ConiferTree

/// Leaves above 256 KiB, stored in parts outside their run.
///
/// Each write of one has a number of its own, and an equal write is found by comparing the content. Key:
/// tree, number, part in four bytes. Payload: method, bytes before compression, packed bytes.
enum LargeLeaf {
  /// A leaf whose encoding is longer is stored in parts of this size.
  static let threshold = 256 << 10

  static func prefix(_ tree: TreeID, _ number: UInt64) -> Bytes {
    StoreKey.prefix(tree) + StoreKey.number(number)
  }

  private static func key(_ tree: TreeID, _ number: UInt64, part: Int) -> Bytes {
    var writer = ByteWriter(prefix(tree, number))
    writer.bigEndian(UInt64(part), bytes: 4)
    return writer.bytes
  }

  /// The entry of a leaf, which refers to parts when the leaf is large; `numbered` gives it its number.
  static func entry(_ key: Bytes, _ leaf: Leaf, _ priority: Priority?) -> Entry {
    let value = LeafCodec.encode(leaf, priority)
    guard value.count > threshold else { return Entry(key: key, value: value) }
    // The leaf alone decides, so that a priority that comes or goes moves nothing.
    let content = priority == nil ? value : LeafCodec.encode(leaf, nil)
    guard content.count > threshold else { return Entry(key: key, value: value) }
    return Entry(
      key: key, value: LeafCodec.encodeExternal(number: 0, count: content.count, priority),
      content: content)
  }

  /// A new entry with the number of the one that it replaces when their contents are equal, else with
  /// one that was never given.
  static func numbered(
    _ entry: Entry, _ content: Bytes, replacing old: Entry?, _ editor: RunEditor
  ) throws(StoreError) -> Entry {
    guard case .external(_, let count, let priority) = LeafCodec.decode(entry.value) else {
      return entry
    }
    var number = try known(content, old, editor.reader)
    if number == nil { number = try fresh(editor.tx, editor.tree) }
    return Entry(
      key: entry.key,
      value: LeafCodec.encodeExternal(number: number ?? 0, count: count, priority),
      content: content)
  }

  /// The number of an entry that holds some content.
  private static func known(
    _ content: Bytes, _ old: Entry?, _ reader: RunReader
  ) throws(StoreError) -> UInt64? {
    guard let old, case .external(let number, let count, _) = LeafCodec.decode(old.value),
      count == content.count
    else { return nil }
    // What cannot be read is written over.
    let stored = try undamaged { () throws(StoreError) in try read(reader, number, count) }
    return stored == content ? number : nil
  }

  /// A number under which no parts stand: those of stores of before were hashes.
  private static func fresh(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) -> UInt64 {
    while true {
      let number = try tx.nextRunNumber(tree)
      let parts = try tx.keys(Spaces.parts, prefix: prefix(tree, number), limit: 1)
      if parts.isEmpty { return number }
    }
  }

  static func write(
    _ tx: LeafTransaction, _ tree: TreeID, _ entry: Entry
  ) throws(StoreError) {
    guard let content = entry.content, let number = number(entry) else { return }
    for (part, start) in stride(from: 0, to: content.count, by: threshold).enumerated() {
      let body = Bytes(content[start..<min(start + threshold, content.count)])
      let (method, packed) = tx.leaves.codec.pack(body)
      var writer = ByteWriter()
      writer.byte(method.rawValue)
      writer.varint(body.count)
      writer.append(packed)
      try tx.put(Spaces.parts, key(tree, number, part: part), payload: writer.bytes)
    }
    try tx.countTree(tree, leaves: 0, raw: RawBytes(largeLeaves: content.count))
  }

  static func delete(_ tx: LeafTransaction, _ tree: TreeID, _ entry: Entry) throws(StoreError) {
    guard case .external(let number, let count, _) = LeafCodec.decode(entry.value) else { return }
    try tx.deleteAll(Spaces.parts, prefix: prefix(tree, number))
    try tx.countTree(tree, leaves: 0, raw: -RawBytes(largeLeaves: count))
  }

  /// The number of the parts that an entry refers to, or nil when it holds its leaf itself.
  static func number(_ entry: Entry) -> UInt64? {
    guard entry.isExternal, case .external(let number, _, _) = LeafCodec.decode(entry.value) else {
      return nil
    }
    return number
  }

  static func read(_ reader: RunReader, _ number: UInt64, _ count: Int) throws(StoreError) -> Bytes
  {
    var content = Bytes()
    let prefix = prefix(reader.tree, number)
    for (key, value) in try reader.view.entries(Spaces.parts, prefix: prefix) {
      var parts = ByteReader(value, from: Record.overhead)
      guard Record.isIntact(Spaces.parts, key, value), let method = parts.byte(),
        let rawCount = parts.size(), let packed = parts.take(parts.remaining),
        let body = try reader.leaves.codec.unpack(Codec.method(method), packed, rawCount: rawCount)
      else { throw Damage.error(Spaces.parts, key) }
      content += body
      guard content.count <= count else { throw Damage.error(Spaces.parts, prefix) }
    }
    guard content.count == count else { throw Damage.error(Spaces.parts, prefix) }
    return content
  }
}
