import ConiferKeyValue

/// The note that a store has gone on without data that it lost and has not yet been made to agree
/// again, in tree 0 of the system space: what was lost, in words.
enum Settlement {
  private static let key = StoreKey.prefix(TreeID(rawValue: 0)) + [UInt8(ascii: "s")]

  static func isUnderWay(_ view: any OrderedView) throws(StoreError) -> Bool {
    try view.get(Spaces.system, key) { _ in } != nil
  }

  /// What notes it, in a commit before the store is told to go on. It is not counted: counts may be
  /// what cannot be read.
  static func begin(_ view: any OrderedView, _ words: [String]) throws(StoreError) -> Batch {
    var writer = ByteWriter()
    for text in try known(view) + words { writer.sized(text) }
    var batch = Batch()
    batch.put(Spaces.system, key, Record.seal(Spaces.system, key, writer.bytes))
    return batch
  }

  /// Forgets it, in the commit that makes all agree.
  ///
  /// - Returns: what was lost.
  static func end(_ tx: Transaction) throws(StoreError) -> [String] {
    let words = try known(tx)
    try tx.delete(Spaces.system, key)
    return words
  }

  private static func known(_ view: any OrderedView) throws(StoreError) -> [String] {
    guard let value = try view.value(Spaces.system, key) else { return [] }
    // What was lost matters more than the words for it.
    var reader = ByteReader(Record.open(Spaces.system, key, value) ?? [])
    var words: [String] = []
    while let text = reader.text() { words.append(text) }
    return words
  }
}
