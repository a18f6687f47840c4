import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

extension Verifier {
  /// Checks tracked queries with their index and keys, both ways.
  func checkQueries() throws(StoreError) {
    let clock = try Recency.clock(snapshot)
    var last: [TreeID: UInt64] = [:]
    var known: [TreeID: Set<UInt64>] = [:]
    try scan(Spaces.queries) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      if key.count == 5, key[4] == 0xFF {
        guard value.count == 8 + Record.overhead else { throw Damage.error(Spaces.queries, key) }
        last[tree] = StoreKey.number(atEndOf: value)
        return
      }
      guard key.count == 12 else { throw Damage.error(Spaces.queries, key) }
      counted[tree, default: UsageRow()].queries += 1
      let id = QueryID(rawValue: StoreKey.number(atEndOf: key))
      known[tree, default: []].insert(id.rawValue)
      count { $0.queries += 1 }
      let queries = try queries(tree, Spaces.queries, key)
      guard let query = try queries.query(id) else { throw Damage.error(Spaces.queries, key) }
      if query.lastUse > clock, query.lastUse < Recency.end {
        found(
          .number, Spaces.queries, key,
          "the query was used at \(query.lastUse), and the counter stands at \(clock)")
      }
      let row = queries.indexKey(query.path, query.parameters)
      let number = try snapshot.get(Spaces.queryIndex, row) { StoreKey.number(atEndOf: Bytes($0)) }
      if number != id.rawValue, !damaged.contains(tree) {
        found(.missing, Spaces.queries, key, "the query at \(query.path) is not in the index")
      }
    }
    for (tree, ids) in known {
      if last[tree] == nil, !damaged.contains(tree) {
        found(
          .missing, Spaces.queries, StoreKey.prefix(tree) + [0xFF],
          "the last number of a query is not there")
      }
      if let highest = ids.max(), highest > last[tree] ?? 0, !damaged.contains(tree) {
        found(
          .number, Spaces.queries, StoreKey.prefix(tree) + [0xFF],
          "query \(highest) is there, and the last number given is \(last[tree] ?? 0)")
      }
    }
    try scan(Spaces.queryIndex) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      let queries = try queries(tree, Spaces.queryIndex, key)
      let id = try queries.number(key, value)
      // One that cannot be read is a finding already.
      let query = try undamaged { () throws(StoreError) in try queries.query(id) } ?? nil
      guard known[tree]?.contains(id.rawValue) ?? false, let query,
        queries.indexKey(query.path, query.parameters) == key
      else {
        if damaged.contains(tree) { return }
        return found(
          .orphan, Spaces.queryIndex, key, "the index names query \(id.rawValue), which is not here"
        )
      }
    }
    try checkTrackedKeys(known)
  }

  private func queries(
    _ tree: TreeID, _ space: Space, _ key: Bytes
  ) throws(StoreError) -> Queries {
    guard let info = trees[tree] else { throw Damage.error(space, key) }
    return Queries(view: snapshot, tree: tree, order: info.order)
  }

  private func checkTrackedKeys(_ known: [TreeID: Set<UInt64>]) throws(StoreError) {
    try scan(Spaces.queryKeys) { (row, value) throws(StoreError) in
      let tree = StoreKey.tree(row)
      let queries = try queries(tree, Spaces.queryKeys, row)
      count { $0.trackedKeys += 1 }
      let number = StoreKey.numberAfterTree(row)
      guard let text = String(validating: value.dropFirst(Record.overhead), as: UTF8.self),
        try isRow(row, QueryID(rawValue: number), of: text, queries)
      else { throw Damage.error(Spaces.queryKeys, row) }
      if !damaged.contains(tree), !(known[tree]?.contains(number) ?? false) {
        found(.orphan, Spaces.queryKeys, row, "its query is not there")
      }
    }
  }

  /// Whether a row is that of a key that a query holds, or of a document that it matches.
  private func isRow(
    _ row: Bytes, _ id: QueryID, of text: String, _ queries: Queries
  ) throws(StoreError) -> Bool {
    guard queries.order == .documents else { return queries.keyRow(id, Key(text)) == row }
    guard let path = try? DocumentPath(text) else { return false }
    // The rows of a query that is not there are orphans.
    guard let query = try queries.query(id) else { return true }
    return MatchRows(queries, id, query).find(path) == row
  }

  /// Checks pins.
  func checkPins() throws(StoreError) {
    try scan(Spaces.pins) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      let pin = try Pins.read(tree, key, value)
      guard let info = trees[tree], Pins.key(pin, info.order) == key else {
        throw Damage.error(Spaces.pins, key)
      }
      count { $0.pins += 1 }
    }
  }
}
