import ConiferKeyValue

/// A small change of a run, stored beside it until the run is rewritten.
///
/// Key: tree, run number, sequence in four bytes. Payload: method, bytes of the body before
/// compression, by how many leaves the run grew, then the body: for each changed entry 1, key and
/// value, or 2 and key.
struct DeltaRecord {
  let leaves: Int
  let rawCount: Int
  let changes: [EntryChange]

  static func prefix(_ tree: TreeID, _ number: UInt64) -> Bytes {
    StoreKey.prefix(tree) + StoreKey.number(number)
  }

  static func key(_ tree: TreeID, _ number: UInt64, _ sequence: UInt32) -> Bytes {
    var writer = ByteWriter(prefix(tree, number))
    writer.bigEndian(UInt64(sequence), bytes: 4)
    return writer.bytes
  }

  static func payload(
    _ changes: [EntryChange], leaves: Int, codec: Codec
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
    let (method, packed) = codec.pack(body.bytes)
    var writer = ByteWriter()
    writer.byte(method.rawValue)
    writer.varint(body.count)
    writer.zigzag(Int64(leaves))
    writer.append(packed)
    return (writer.bytes, body.count)
  }

  /// Reads a delta.
  ///
  /// - Throws: `damaged`, `unsupported`.
  init(key: Bytes, value: Bytes, codec: Codec) throws(StoreError) {
    // Put together where it is thrown: most records are sound, and its words take longer than they.
    func damage() -> StoreError { Damage.error(Spaces.deltas, key) }
    guard Record.isIntact(Spaces.deltas, key, value) else { throw damage() }
    var reader = ByteReader(value, from: Record.overhead)
    guard let method = reader.byte(), let rawCount = reader.size(), let leaves = reader.zigzag(),
      let packed = reader.take(reader.remaining),
      let body = try codec.unpack(Codec.method(method), packed, rawCount: rawCount)
    else { throw damage() }
    self.rawCount = rawCount
    self.leaves = Int(clamping: leaves)
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
