import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Answers a tracked query of documents from its matches and the documents that were read later.
struct MatchesExecutor {
  let view: LeafSnapshot
  let lane: Lane
  let target: DocumentTarget
  let indexes: [DocumentIndexRows]
  let documents: SnapshotDocuments
  let overlays: OverlayRows
  /// The documents of the source that waiting writes of the lane change.
  let pending: WaitingDocuments

  /// The documents that match and have no waiting writes, sorted, up to the limit. Nil when another
  /// plan is better, or when the matches are not enough to answer the query.
  ///
  /// - Throws: `invalid` when the tracked query is another query, or another user's. A query of the
  ///   empty identity serves every user.
  func find(_ id: QueryID) throws(StoreError) -> FoundDocuments? {
    let queries = Queries(view: view, tree: lane.tree, order: .documents)
    guard let query = try queries.query(id) else { return nil }
    guard query.serves(lane, target) else {
      throw StoreError(
        .invalid,
        "Query \(id.rawValue) is tracked for another query or lane: name the one that was saved for "
          + "this one.")
    }
    guard !target.matchesAll, let source = ChangeLogRows.source(target.source) else { return nil }
    let rows = ChangeLogRows(view: view, tree: lane.tree)
    guard let version = try rows.version(id), version.source == target.source else { return nil }
    let matches = Set(try queries.matches(id))
    let changed = try rows.changed(source, after: version.time)
    guard try !hasBetterIndex(than: matches.count + changed.count) else { return nil }
    var found = FoundDocuments(access: .matches, isSorted: true, hint: nil)
    found.rowsRead = matches.count + changed.count
    var matched: [Document] = []
    let paths = Array(matches.union(changed))
    for (path, document) in zip(paths, try documents.documents(paths)) {
      if document != nil { found.countDocument() }
      let base = document ?? Document(path, .unseen)
      guard !pending.isOutside(path) else { continue }
      let row = pending.row(path)
      let shown = try row.map { (row) throws(StoreError) in
        try overlays.overlay(row).applied(to: base)
      }
      guard target.matches(shown ?? base) else { continue }
      if matches.contains(path) { matched.append(shown ?? base) }
      if row == nil { found.documents.append(base) }
    }
    guard isFull(matched, of: matches.count, version) else { return nil }
    found.documents.sort { target.compare($0, $1) < 0 }
    if let limit = target.limit, found.documents.count > limit {
      found.documents.removeSubrange(limit...)
    }
    return found
  }

  /// Whether no document beyond the limit can have moved up. This is so when the number of matches
  /// equals the limit, all of them still match, and the last one is unchanged; or when there are
  /// fewer matches than the limit.
  private func isFull(_ matched: [Document], of count: Int, _ version: MatchesVersion) -> Bool {
    guard let limit = target.limit, count >= limit else { return true }
    guard count == limit, matched.count == count,
      let last = matched.max(by: { target.compare($0, $1) < 0 })
    else {
      return false
    }
    return !pending.contains(last.path) && last.readTime <= version.time
  }

  /// Whether declared indexes serve the target with fewer rows than matches and changes have.
  private func hasBetterIndex(than count: Int) throws(StoreError) -> Bool {
    let plan = DocumentPlanner.plan(target, indexes)
    guard case .parts(let parts) = plan.access else { return false }
    if plan.isOrdered, let limit = target.limit, limit < count { return true }
    var rows = 0
    for part in parts {
      switch part {
      case .key: rows += 1
      case .rows(let scan): rows += try self.rows(scan, upTo: count)
      case .join(let scans):
        rows += try scans.map { (scan) throws(StoreError) in try self.rows(scan, upTo: count) }
          .reduce(0, +)
      }
      if rows >= count { return false }
    }
    return true
  }

  private func rows(_ scan: DocumentPlan.Scan, upTo most: Int) throws(StoreError) -> Int {
    var rows = 0
    for range in scan.ranges where rows < most {
      try view.walkKeys(Spaces.indexes, .atOrAfter(range.low)) { key, _ in
        guard key.compare(range.high) < 0 else { return .stop }
        rows += 1
        return rows < most ? .next : .stop
      }
    }
    return rows
  }
}
