import ConiferKeyValue
import ConiferTree

/// Changes the tracked queries of one tree within a commit.
struct QueryEditor {
  let tx: Transaction
  let queries: Queries

  init(_ tx: Transaction, _ tree: TreeInfo) {
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
    guard (1..<(1 << 56)).contains(stored.id.rawValue) else {
      throw StoreError(.invalid, "A query's number is between 1 and 2^56 - 1.")
    }
    let known = try queries.find(stored.query.path, stored.query.parameters)
    let holder = try queries.query(stored.id)
    guard known.map({ $0.id == stored.id }) ?? (holder == nil) else {
      throw StoreError(
        .invalid,
        "Query \(stored.id.rawValue) is another one here, or has another number: restore into a "
          + "tree that has no queries of its own.")
    }
    try put(stored.query, stored.id, isNew: known == nil)
    try reserve(stored.id)
  }

  /// Lets numbers go on behind one that another store gave.
  func reserve(_ id: QueryID) throws(StoreError) {
    guard try id.rawValue > queries.last()?.rawValue ?? 0 else { return }
    try tx.put(
      Spaces.queries, queries.prefix + [0xFF], payload: StoreKey.number(id.rawValue))
  }

  private func put(_ query: TrackedQuery, _ id: QueryID, isNew: Bool) throws(StoreError) {
    try tx.put(Spaces.queries, queries.key(id), payload: Queries.payload(query))
    try Recency.setClock(tx, query.lastUse)
    guard isNew else { return }
    try tx.countQueries(queries.tree, 1)
    try tx.put(
      Spaces.queryIndex, queries.indexKey(query.path, query.parameters),
      payload: StoreKey.number(id.rawValue))
  }

  /// A number that was never given.
  private func nextID() throws(StoreError) -> QueryID {
    let next = QueryID(rawValue: (try queries.last()?.rawValue ?? 0) + 1)
    try reserve(next)
    return next
  }

  /// Goes on well above every number in use, when the row that remembers the last one is lost.
  func skipNumbers() throws(StoreError) {
    let rows = try tx.entries(Spaces.queries, prefix: queries.prefix)
    let highest = rows.map { key, value in
      key.count == 12
        ? IndexKey.number(key)
        : IndexKey.number(Record.open(Spaces.queries, key, value) ?? StoreKey.number(0))
    }.max()
    let (next, isOver) = (highest ?? 0).addingReportingOverflow(1 << 20)
    try tx.put(
      Spaces.queries, queries.prefix + [0xFF], payload: StoreKey.number(isOver ? .max : next))
  }

  func remove(_ id: QueryID) throws(StoreError) {
    guard let query = try queries.query(id) else { throw unknown(id) }
    try tx.countQueries(queries.tree, -1)
    try tx.delete(Spaces.queries, queries.key(id))
    try tx.delete(Spaces.queryIndex, queries.indexKey(query.path, query.parameters))
    try tx.deleteAll(Spaces.queryKeys, prefix: queries.key(id))
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

  private func unknown(_ id: QueryID) -> StoreError {
    StoreError(
      .invalid, "The tree has no tracked query \(id.rawValue): save it first.")
  }
}
