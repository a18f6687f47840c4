import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Changes the tracked queries of one tree within a commit.
struct QueryEditor {
  let tx: LeafTransaction
  let queries: Queries

  init(_ tx: LeafTransaction, _ tree: TreeInfo) {
    self.tx = tx
    self.queries = Queries(view: tx, tree: tree.id, order: tree.order)
  }

  /// Adds or replaces a query and returns its number.
  func save(_ query: TrackedQuery) throws(StoreError) -> QueryID {
    let known = try queries.find(query.path, query.parameters)
    let id = if let known { known.id } else { try nextID() }
    try put(query, id, isNew: known == nil)
    return id
  }

  /// Adds or replaces a query under the number that another store gave it.
  func restore(_ stored: StoredQuery) throws(StoreError) {
    try checkNumber(stored.id)
    let known = try queries.find(stored.query.path, stored.query.parameters)
    let holder = try queries.query(stored.id)
    guard known.map({ $0.id == stored.id }) ?? (holder == nil) else {
      throw StoreError(
        .invalid,
        "Query \(stored.id.rawValue) is another one here, or has another number: restore into a "
          + "tree that has no queries of its own.")
    }
    // The row with the last number is written first: queries without that row would look like
    // damage.
    try reserveNumbers(through: stored.id)
    try put(stored.query, stored.id, isNew: known == nil)
  }

  /// Reserves numbers: new numbers begin after one that this or another store assigned.
  func reserveNumbers(through id: QueryID) throws(StoreError) {
    guard try id.rawValue > queries.last()?.rawValue ?? 0 else { return }
    try checkNumber(id)
    try tx.put(
      Spaces.queries, queries.lastKey, payload: StoreKey.number(id.rawValue))
  }

  private func checkNumber(_ id: QueryID) throws(StoreError) {
    guard (1...Numbers.lastQuery).contains(id.rawValue) else {
      throw StoreError(
        .invalid,
        "A query's number is between 1 and 2^56 - 1: take one that a store gave, not \(id.rawValue)."
      )
    }
  }

  /// Stores a query under a number.
  func put(_ query: TrackedQuery, _ id: QueryID, isNew: Bool) throws(StoreError) {
    try tx.put(Spaces.queries, queries.key(id), payload: Queries.payload(query))
    try Recency.setClock(tx, query.lastUse)
    guard isNew else { return }
    try tx.countQueries(queries.tree, 1)
    try tx.put(
      Spaces.queryIndex, queries.indexKey(query.path, query.parameters),
      payload: StoreKey.number(id.rawValue))
  }

  /// A number that was never used.
  private func nextID() throws(StoreError) -> QueryID {
    let last = try queries.last()?.rawValue ?? 0
    let next = QueryID(
      rawValue: try Numbers.next(after: last, last: Numbers.lastQuery, "tracked queries of a tree"))
    // Without this check, a query with that number would be overwritten.
    guard try tx.get(Spaces.queries, queries.key(next), { _ in }) == nil else {
      throw Damage.error(Spaces.queries, queries.lastKey)
    }
    try reserveNumbers(through: next)
    return next
  }

  /// Continues with numbers well above every used one, when the row with the last number is lost.
  func skipNumbers() throws(StoreError) {
    let known = try undamaged { () throws(StoreError) in try queries.last()?.rawValue } ?? nil
    let highest = max(known ?? 0, try queries.highest())
    try tx.put(
      Spaces.queries, queries.lastKey,
      payload: StoreKey.number(Numbers.skipping(highest, last: Numbers.lastQuery)))
  }

  func remove(_ id: QueryID) throws(StoreError) {
    guard let query = try queries.query(id) else { throw unknown(id) }
    try tx.countQueries(queries.tree, -1)
    try tx.delete(Spaces.queries, queries.key(id))
    try tx.delete(Spaces.queryIndex, queries.indexKey(query.path, query.parameters))
    try tx.deleteAll(Spaces.queryKeys, prefix: queries.key(id))
    if queries.order == .documents {
      try MatchesVersions(tx: tx, tree: queries.tree).forget(id)
    }
  }

  func setKeys(_ id: QueryID, _ keys: [Key]) throws(StoreError) {
    guard try queries.query(id) != nil else { throw unknown(id) }
    let wanted = Set(keys)
    for key in try queries.keys(id) where !wanted.contains(key) {
      try tx.delete(Spaces.queryKeys, queries.keyRow(id, key))
    }
    try add(id, keys)
  }

  func updateKeys(_ id: QueryID, added: [Key], removed: [Key]) throws(StoreError) {
    guard try queries.query(id) != nil else { throw unknown(id) }
    for key in removed { try tx.delete(Spaces.queryKeys, queries.keyRow(id, key)) }
    try add(id, added)
  }

  private func add(_ id: QueryID, _ keys: [Key]) throws(StoreError) {
    for key in keys {
      try tx.put(Spaces.queryKeys, queries.keyRow(id, key), payload: Bytes(key.string.utf8))
    }
  }

  func unknown(_ id: QueryID) -> StoreError {
    StoreError(
      .invalid, "The tree has no tracked query \(id.rawValue): save it first.")
  }
}
