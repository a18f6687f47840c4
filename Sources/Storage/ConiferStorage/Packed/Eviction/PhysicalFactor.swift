import ConiferKeyValue
import ConiferLeafStore

/// Converts bytes of records to physical bytes: the store's live bytes, without its own overhead,
/// divided by the bytes of all records.
struct PhysicalFactor {
  /// Physical bytes for one byte of a record; never under 1.
  let value: Double

  /// With the edits of a transaction.
  init(_ tx: LeafTransaction, _ size: StoreSize) throws(StoreError) {
    self.init(records: try Self.sum(tx).total, size)
  }

  /// - Parameter size: of the store in the state that the view shows.
  init(stored view: any OrderedView, _ size: StoreSize) throws(StoreError) {
    self.init(records: try Self.sum(stored: view).total, size)
  }

  private init(records: Int, _ size: StoreSize) {
    value = records > 0 ? max(1, Double(size.live - size.own) / Double(records)) : 1
  }

  func physical(_ bytes: Int) -> Int {
    // The limit is more than any disk has; the counts of a damaged store may be arbitrary.
    Int(min(0x1p60, (Double(bytes) * value).rounded(.up)))
  }

  /// What the cache takes, with the edits of a transaction.
  func cache(_ tx: LeafTransaction) throws(StoreError) -> Int {
    physical(try Self.sum(tx).budgeted)
  }

  /// What the cache takes as it is stored.
  func cache(stored view: any OrderedView) throws(StoreError) -> Int {
    physical(try Self.sum(stored: view).budgeted)
  }

  /// What the records of all trees take that are stored.
  static func sum(stored view: any OrderedView) throws(StoreError) -> StorageUsage {
    var sum = StorageUsage()
    for tree in try UsageRow.trees(view) {
      sum.add(try UsageRow.read(view, tree).usage)
    }
    return sum
  }

  /// What the records of all trees take, with the edits of a transaction.
  static func sum(_ tx: LeafTransaction) throws(StoreError) -> StorageUsage {
    var sum = StorageUsage()
    for tree in try tx.countedTrees() { sum.add(try tx.usage(tree).usage) }
    return sum
  }
}

extension StorageUsage {
  /// What counts against the budget of the cache.
  var budgeted: Int { .sum(leafBytes, dictionaries, trackedQueries, pins, indexes) }
}
