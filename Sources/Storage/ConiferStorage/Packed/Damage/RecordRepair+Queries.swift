import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Repairing tracked queries that cannot be read.
extension RecordRepair {
  func isQueryDamaged(
    _ key: Bytes, _ stored: Bytes?, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    let queries = Queries(view: tx, tree: info.id, order: info.order)
    if key == queries.lastKey {
      return try meetsDamage { () throws(StoreError) in
        try queries.last()?.rawValue ?? 0 < queries.highest()
      }
    }
    guard stored != nil else { return false }
    return try meetsDamage { () throws(StoreError) in
      guard key.count == 12 else { return true }
      _ = try queries.query(QueryID(rawValue: StoreKey.number(atEndOf: key)))
      return false
    }
  }

  func dropQuery(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    let editor = QueryEditor(tx, info)
    if key == editor.queries.lastKey {
      try moveToReports(Spaces.queries, key, .recordSetAside)
      return try editor.skipNumbers()
    }
    try moveToReports(Spaces.queries, key, .recordSetAside)
    // Its row in the index now names a query that does not exist; mending the tree removes it.
    if key.count == 12 {
      try tx.deleteAll(Spaces.queryKeys, prefix: key)
      try MatchesVersions(tx: tx, tree: info.id).forget(
        QueryID(rawValue: StoreKey.numberAfterTree(key)))
      try tx.countQueries(info.id, -1)
    }
    try MendingMarker.add(tx, info.id)
  }

  func dropTrackedKey(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    try moveToReports(Spaces.queryKeys, key, .recordSetAside)
    let editor = QueryEditor(tx, info)
    let id = QueryID(rawValue: StoreKey.numberAfterTree(key))
    guard let query = try editor.queries.query(id) else { return }
    try markIncomplete(query, id, editor)
  }

  func rebuildQueryIndex(_ info: TreeInfo) throws(StoreError) {
    try tx.deleteAll(Spaces.queryIndex, prefix: StoreKey.prefix(info.id))
    let queries = Queries(view: tx, tree: info.id, order: info.order)
    try queries.forEach { (stored) throws(StoreError) in
      try tx.put(
        Spaces.queryIndex, queries.indexKey(stored.query.path, stored.query.parameters),
        payload: StoreKey.number(stored.id.rawValue))
    }
  }
}
