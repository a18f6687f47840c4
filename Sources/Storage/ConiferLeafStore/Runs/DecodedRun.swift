package import ConiferKeyValue
import Synchronization

/// A run unpacked: its entries with its deltas laid over them, and what its records count.
///
/// It depends only on the stored bytes, which it keeps: in any view with the same bytes, it may be
/// used instead of decoding them.
package final class DecodedRun: Sendable {
  /// A delta as it is stored, and what its head counts.
  package struct Delta: Sendable {
    package let key: Bytes
    package let value: Bytes
    package let leaves: Int
    package let rawCount: Int
  }

  package let head: RunHead
  /// Oldest first.
  package let deltas: [Delta]
  package let entries: EntryList
  /// Made when a leaf is first looked for.
  private let table = AtomicLazyReference<KeyTable>()

  package init(_ head: RunHead, _ deltas: [Delta], _ entries: EntryList) {
    self.head = head
    self.deltas = deltas
    self.entries = entries
  }

  /// Leaves of the run with its deltas.
  package var leaves: Int { head.count + deltas.reduce(0) { $0 + $1.leaves } }

  /// Uncompressed bytes of the run and of its deltas.
  package var raw: RawBytes {
    RawBytes(runs: head.rawCount, deltas: deltas.reduce(0) { $0 + $1.rawCount })
  }

  /// About what it takes in memory.
  package var size: Int {
    let own = head.value.count + head.storeKey.count + entries.size + KeyTable.size(entries.count)
    return deltas.reduce(256 + own) { $0 + 128 + $1.key.count + $1.value.count }
  }

  /// The index of the entry with exactly this key. Nil when there is none, and for a run of 65,535
  /// entries or more, for which no table is made.
  package func index(of key: Bytes) -> Int? {
    guard let table = table.load() ?? KeyTable(entries).map({ table.storeIfNil($0) }) else {
      return nil
    }
    return key.withUnsafeBytes { key in entries.lend { table.find(key, in: $0) } }
  }

  /// The head, with this run as the one that was decoded from its record.
  package var headOfRecord: RunHead { head(.record(self)) }

  /// The head, with this run as the current one.
  package var headOfCurrent: RunHead { head(.current(self)) }

  private func head(_ cached: RunHead.CachedRun) -> RunHead {
    var head = head
    head.cached = cached
    return head
  }

  /// Whether a lent record is the one that this run was read from.
  package func isStored(as key: RawSpan, _ value: RawSpan) -> Bool {
    key.equals(head.storeKey) && value.equals(head.value)
  }
}

extension RawSpan {
  /// Whether the bytes are the same.
  package func equals(_ other: Bytes) -> Bool {
    guard byteCount == other.count else { return false }
    return withUnsafeBytes { lent in other.withUnsafeBytes { compareBytes(lent, $0) == 0 } }
  }
}

/// A small change of a run, stored beside it until the run is rewritten.
///
/// Key: tree, run number, sequence in four bytes. Payload: method, with method 2 the number of the
/// dictionary, bytes of the body before compression, by how many leaves the run grew, then the
/// body: for each changed entry 1, key and value, or 2 and key.
package struct DeltaRecord {
  /// What is known of a delta without decoding its body.
  package struct Head {
    package let method: Codec.Method
    /// The number of the dictionary that the body is packed with, 0 for none.
    package let dictionary: UInt32
    package let rawCount: Int
    package let leaves: Int
    package let bodyStart: Int

    /// Reads a delta's head and checks its checksum.
    ///
    /// - Throws: `damaged`, `unsupported`.
    package init(key: Bytes, value: Bytes) throws(StoreError) {
      // A function, since most records are intact, and composing the message takes longer than
      // reading the record.
      func damage() -> StoreError { Damage.error(Spaces.deltas, key) }
      var reader = ByteReader(value, from: Record.overhead)
      guard Record.isIntact(Spaces.deltas, key, value), let number = reader.byte() else {
        throw damage()
      }
      method = try Codec.method(number)
      if method == .zstdDictionary {
        guard let number = reader.varint(), let dictionary = UInt32(exactly: number),
          dictionary != 0
        else { throw damage() }
        self.dictionary = dictionary
      } else {
        dictionary = 0
      }
      guard let rawCount = reader.size(),
        let leaves = reader.zigzag().flatMap({ Int32(exactly: $0) })
      else { throw damage() }
      self.rawCount = rawCount
      self.leaves = Int(leaves)
      bodyStart = reader.at
    }
  }

  package let head: Head
  package let changes: [EntryChange]

  package static func prefix(_ tree: TreeID, _ number: UInt64) -> Bytes {
    StoreKey.prefix(tree) + StoreKey.number(number)
  }

  package static func key(_ tree: TreeID, _ number: UInt64, _ sequence: UInt32) -> Bytes {
    var writer = ByteWriter(prefix(tree, number))
    writer.bigEndian(UInt64(sequence), bytes: 4)
    return writer.bytes
  }

  package static func payload(
    _ changes: [EntryChange], leaves: Int, _ packing: Packing
  ) -> (payload: Bytes, rawCount: Int) {
    var body = ByteWriter()
    for change in changes {
      switch change {
      case .put(let entry):
        body.byte(1)
        body.sized(entry.key)
        body.sized(entry.value)
      case .delete(let key):
        body.byte(2)
        body.sized(key)
      }
    }
    let (method, dictionary, packed) = packing.pack(body.bytes)
    var writer = ByteWriter()
    writer.byte(method.rawValue)
    if dictionary != 0 { writer.varint(UInt64(dictionary)) }
    writer.varint(body.count)
    writer.zigzag(Int64(leaves))
    writer.append(packed)
    return (writer.bytes, body.count)
  }

  /// Reads a delta.
  ///
  /// - Throws: `damaged`, also for its dictionary; `unsupported`.
  package init(key: Bytes, value: Bytes, _ unpacking: Unpacking) throws(StoreError) {
    func damage() -> StoreError { Damage.error(Spaces.deltas, key) }
    head = try Head(key: key, value: value)
    let packed = Bytes(value[head.bodyStart...])
    guard
      let body = try unpacking.unpack(
        head.method, head.dictionary, packed, rawCount: head.rawCount)
    else { throw damage() }
    var changes: [EntryChange] = []
    var parts = ByteReader(body)
    while let kind = parts.byte() {
      guard let key = parts.sized() else { throw damage() }
      if kind == 1, let value = parts.sized() {
        changes.append(.put(Entry(key: key, value: value)))
      } else if kind == 2 {
        changes.append(.delete(key))
      } else {
        throw damage()
      }
    }
    self.changes = changes
  }
}
