import ConiferDocument
import ConiferKeyValue
import ConiferStorage

// What the server said and does not hold any more: it is asked for anew.
extension TargetStore {
  /// Forgets what the server said as of later times than one, of queries that nobody listens to.
  func forget(after time: ConiferDocument.Timestamp) throws(StoreError) {
    let listened = Set(rows.values.map(\.query))
    var last: QueryID?
    while true {
      let page = try store.read { (view, lane) throws(StoreError) in
        try view.trackedQueries(lane.tree, after: last, limit: 64)
      }
      var edits: [StorageEdit] = []
      for stored in page where !listened.contains(stored.id) {
        var query = stored.query
        guard TargetRecord(query).version > time else { continue }
        (query.isComplete, query.resumeToken) = (false, [])
        edits.append(.saveQuery(query))
        edits.append(.documents(store.tree, [.setMatchesVersion(stored.id, nil)]))
      }
      try store.commit(edits)
      guard page.count == 64 else { return }
      last = page.last?.id
    }
  }
}
