import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The stored part of recency: the counter, and each query's last use.
enum Recency {
  /// No counter reaches this value; a larger one was forged or damaged, and is ignored.
  static let end = UInt64.max / 2

  private static let key = SystemKey.clock.bytes

  /// The counter as it was last stored: no stored use is later.
  static func clock(_ view: any OrderedView) throws(StoreError) -> UInt64 {
    guard let value = try view.value(Spaces.system, key) else { return 0 }
    var reader = ByteReader(Record.open(Spaces.system, key, value) ?? [])
    // A damaged counter does not prevent opening a store: counting continues with the next stored
    // use.
    guard let clock = reader.varint(), clock < end else { return 0 }
    return clock
  }

  /// The counter of a store.
  static func clock(of store: any OrderedStore) throws(StoreError) -> UInt64 {
    let view = try store.view()
    defer { view.close() }
    return try clock(view)
  }

  /// Stores the counter when a commit stores a later use.
  static func setClock(_ tx: LeafTransaction, _ use: UInt64) throws(StoreError) {
    guard use < end, try use > clock(tx) else { return }
    var writer = ByteWriter()
    writer.varint(use)
    try tx.put(Spaces.system, key, payload: writer.bytes)
  }

  /// The result for the uses that a commit was to store.
  struct Stored {
    var uses: [(name: Activity.Name, use: UInt64)] = []
    /// Uses that are too little later than the stored ones to be stored.
    var tooRecent: [(name: Activity.Name, use: UInt64)] = []
    /// Queries that do not exist and never will, as numbers never repeat, or whose tree was erased.
    var missing: Set<Activity.Name> = []
  }

  /// Stores uses that are at least a distance later than the stored ones.
  ///
  /// - Parameter uses: the oldest first.
  /// - Returns: the result, to be applied once the commit is done.
  static func store(
    _ tx: LeafTransaction, _ uses: [(name: Activity.Name, use: UInt64)], distance: UInt64
  ) throws(StoreError) -> Stored {
    var stored = Stored()
    for (name, use) in uses {
      do throws(StoreError) {
        try store(tx, name, use, distance, &stored)
      } catch {
        // The tree's key was erased: that must not make commits to other trees fail.
        guard error.code == .wrongKey else { throw error }
        stored.missing.insert(name)
      }
    }
    return stored
  }

  private static func store(
    _ tx: LeafTransaction, _ name: Activity.Name, _ use: UInt64, _ distance: UInt64,
    _ stored: inout Stored
  ) throws(StoreError) {
    guard let info = try Trees.info(tx, name.tree) else {
      stored.missing.insert(name)
      return
    }
    let editor = QueryEditor(tx, info)
    guard var query = try editor.queries.query(name.query) else {
      stored.missing.insert(name)
      return
    }
    guard use <= query.lastUse || use - query.lastUse >= distance else {
      stored.tooRecent.append((name, use))
      return
    }
    stored.uses.append((name, use))
    guard use > query.lastUse else { return }
    query.lastUse = use
    try editor.put(query, name.query, isNew: false)
  }
}
