package import ConiferKeyValue

/// A tree's dictionary as it is stored; it never changes.
///
/// Key: tree, number in four bytes; numbers never repeat in a tree. Payload: kind, the ratio of
/// held-out bodies under it in thousandths, the dictionary.
package struct DictionaryRecord {
  /// The kind for bodies of runs and of deltas, the only one so far.
  package static let bodies: UInt8 = 1

  package let ratio: Double
  package let content: Bytes

  package static func key(_ tree: TreeID, _ number: UInt32) -> Bytes {
    var writer = ByteWriter(StoreKey.prefix(tree))
    writer.bigEndian(UInt64(number), bytes: 4)
    return writer.bytes
  }

  /// The number in a dictionary's key.
  package static func number(_ key: Bytes) -> UInt32 {
    key.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The kind of an intact record, or nil of a damaged one.
  package static func kind(_ key: Bytes, _ value: Bytes) -> UInt8? {
    guard Record.isIntact(Spaces.dictionaries, key, value), value.count > Record.overhead else {
      return nil
    }
    return value[Record.overhead]
  }

  package var payload: Bytes {
    var writer = ByteWriter()
    writer.byte(Self.bodies)
    writer.varint(UInt64(min(max(0, ratio * 1000), 1e9)))
    writer.append(content)
    return writer.bytes
  }

  package init(ratio: Double, content: Bytes) {
    self.ratio = ratio
    self.content = content
  }

  /// Reads a dictionary.
  ///
  /// - Throws: `damaged`, also when it is missing; `unsupported` for a kind of a later version.
  package init(key: Bytes, value: Bytes?) throws(StoreError) {
    // A function, since composing the message takes longer than reading the record.
    func damage() -> StoreError { Damage.error(Spaces.dictionaries, key) }
    guard let value, let kind = Self.kind(key, value) else { throw damage() }
    guard kind == Self.bodies else {
      throw StoreError(
        .unsupported,
        "A record was packed with a dictionary of a kind this version does not know: use a newer "
          + "Conifer.")
    }
    var reader = ByteReader(value, from: Record.overhead + 1)
    guard let ratio = reader.varint(), let content = reader.take(reader.remaining),
      !content.isEmpty
    else { throw damage() }
    self.ratio = Double(ratio) / 1000
    self.content = content
  }
}
