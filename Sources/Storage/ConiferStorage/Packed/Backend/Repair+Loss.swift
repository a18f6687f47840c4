import ConiferKeyValue

extension Repair {
  /// Reports what the store had to leave out when it was opened, and makes all that is left agree
  /// again: no query counts as complete, and totals are counted anew.
  ///
  /// It is not known which records the lost commits wrote, so nothing of the cache is taken for
  /// known any more.
  func settle(_ findings: [StoreFinding]) throws(StoreError) {
    for finding in findings {
      try Incidents.add(
        tx,
        Incident(
          kind: .recordSetAside, tree: TreeID(rawValue: 0), place: finding.words, bytes: []))
    }
    for info in try Trees.all(tx) {
      let editor = QueryEditor(tx, info)
      for stored in try editor.queries.window(after: nil, limit: .max) {
        try forget(stored.query, stored.id, editor)
      }
      try rebuildQueryIndex(info)
      for lane in try QueueReader.lanes(tx, info.id) {
        try recountLane(try QueueReader(tx, lane, info.order, codec), newestIsLost: true)
      }
      try recount(info.id)
    }
  }
}
