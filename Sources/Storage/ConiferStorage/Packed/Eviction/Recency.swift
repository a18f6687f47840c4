import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The stored side of recency: the counter, and each query's last use.
enum Recency {
  /// Counters from here on are no one's: one that came near its end would leave no later use.
  static let end = UInt64.max / 2

  private static let key = StoreKey.prefix(TreeID(rawValue: 0)) + [UInt8(ascii: "u")]

  /// The counter as it was last stored: no stored use is later.
  static func clock(_ view: any OrderedView) throws(StoreError) -> UInt64 {
    guard let value = try view.value(Spaces.system, key) else { return 0 }
    var reader = ByteReader(Record.open(Spaces.system, key, value) ?? [])
    // Recency is no reason to refuse a store: the counter goes on at the next stored use.
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

  /// What a commit knows of uses once it is done.
  struct Stored {
    var uses: [(name: Activity.Name, use: UInt64)] = []
    /// Uses that lie too close behind the stored ones to be stored.
    var close: [(name: Activity.Name, use: UInt64)] = []
    /// Queries that are not there, and never will be: numbers never repeat.
    var gone: Set<Activity.Name> = []
  }

  /// Stores uses that lie at least a distance behind the stored ones, the oldest first.
  ///
  /// - Parameter limit: how many uses are looked at.
  /// - Returns: what is known of those uses once the commit is done.
  static func store(
    _ tx: LeafTransaction, _ uses: [Activity.Name: UInt64], distance: UInt64, limit: Int
  ) throws(StoreError) -> Stored {
    var stored = Stored()
    for (name, use) in uses.sorted(by: { $0.value < $1.value }).prefix(limit) {
      guard let info = try Trees.info(tx, name.tree) else {
        stored.gone.insert(name)
        continue
      }
      let editor = QueryEditor(tx, info)
      guard var query = try editor.queries.query(name.query) else {
        stored.gone.insert(name)
        continue
      }
      guard use <= query.lastUse || use - query.lastUse >= distance else {
        stored.close.append((name, use))
        continue
      }
      stored.uses.append((name, use))
      guard use > query.lastUse else { continue }
      query.lastUse = use
      _ = try editor.save(query)
    }
    return stored
  }
}
