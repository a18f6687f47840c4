import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferWire

// Removes what the server said where it no longer holds. The server is asked for it again.
extension TargetStore {
  /// The targets that are listened to of which the storage has something else than was stored here.
  ///
  /// - Throws: when they cannot be read.
  func changedByAnother() throws(StoreError) -> [TargetID] {
    var changed: [TargetID] = []
    for (id, row) in rows {
      let found = try find(row.target)
      if found?.id != row.query || found?.record != row.stored
        || found?.completeTime != row.storedCompleteTime
      {
        changed.append(id)
      }
    }
    return changed.sorted()
  }

  /// Forgets what the server said of targets that are listened to, as the storage has something else, and maybe no query.
  ///
  /// - Throws: when that cannot be stored; it may be called again.
  func forget(_ ids: [TargetID]) throws(StoreError) {
    // Queries that were just stored may be lost, too.
    endPreparing()
    var edits: [StorageEdit] = []
    for id in ids {
      guard let old = rows[id] else { continue }
      let known = try find(old.target)?.id
      let query = known == old.query ? old.query : try activate(known, old.target).id
      let none = TargetRecord()
      var row = Row(target: old.target, query: query, record: none, stored: none)
      row.toldTime = old.toldTime
      rows[id] = row
      edits += [save(row), .documents(store.tree, [.setMatchesVersion(query, nil)])]
    }
    try store.commit(edits)
  }

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
