package import ConiferKeyValue

extension StorageView {
  /// Walks the waiting or the rejected writes of a lane in windows.
  package func forEachWrite(
    _ lane: Lane, rejected: Bool, _ body: (QueueEntry) throws -> Void
  ) throws {
    let window = 256
    var last: WriteID?
    while true {
      let writes =
        rejected
        ? try rejectedEntries(lane, after: last, limit: window)
        : try entries(lane, after: last, limit: window)
      for write in writes { try body(write) }
      guard writes.count == window, let end = writes.last?.id else { return }
      last = end
    }
  }

  /// Walks the reports of damage in windows.
  ///
  /// - Throws: as the view's reads.
  package func forEachIncident(
    after position: IncidentPosition = IncidentPosition(), _ body: (Incident) -> Void
  ) throws(StoreError) {
    var end = position
    while true {
      let window = try incidents(after: end, limit: 100) { _ in true }
      for incident in window.incidents { body(incident) }
      guard window.hasMore else { return }
      end = window.end
    }
  }

  /// What the reports of damage say, without the bytes that they kept.
  ///
  /// - Throws: as the view's reads.
  package func incidentWords() throws(StoreError) -> [String] {
    var words: [String] = []
    try forEachIncident { words.append($0.description) }
    return words
  }

  /// Walks a tree's tracked queries in windows.
  package func forEachQuery(_ tree: TreeID, _ body: (StoredQuery) throws -> Void) throws {
    let window = 1000
    var last: QueryID?
    while true {
      let queries = try trackedQueries(tree, after: last, limit: window)
      for query in queries { try body(query) }
      guard queries.count == window, let end = queries.last?.id else { return }
      last = end
    }
  }
}
