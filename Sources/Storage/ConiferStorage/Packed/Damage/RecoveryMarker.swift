import ConiferKeyValue

/// The recovery marker: the store went on without records that it lost, and what is left does not agree
/// yet. It lists what was lost, in words, in tree 0 of the system space.
enum RecoveryMarker {
  private static let key = StoreKey.prefix(TreeID(rawValue: 0)) + [UInt8(ascii: "s")]

  static func isSet(_ view: any OrderedView) throws(StoreError) -> Bool {
    try view.get(Spaces.system, key) { _ in } != nil
  }

  /// What sets it, before the store goes on. It is not counted: counts may be what cannot be
  /// read.
  static func set(_ view: any OrderedView, lost words: [String]) throws(StoreError) -> Batch {
    var writer = ByteWriter()
    for text in try lost(view) + words { writer.sized(text) }
    var batch = Batch()
    batch.put(Spaces.system, key, Record.seal(Spaces.system, key, writer.bytes))
    return batch
  }

  /// Clears it, in the commit that makes all agree.
  ///
  /// - Returns: what was lost.
  static func clear(_ tx: LeafTransaction) throws(StoreError) -> [String] {
    let words = try lost(tx)
    try tx.delete(Spaces.system, key)
    return words
  }

  private static func lost(_ view: any OrderedView) throws(StoreError) -> [String] {
    guard let value = try view.value(Spaces.system, key) else { return [] }
    // A marker whose words cannot be read still says that something was lost.
    var reader = ByteReader(Record.open(Spaces.system, key, value) ?? [])
    var words: [String] = []
    while let text = reader.text() { words.append(text) }
    return words
  }
}
