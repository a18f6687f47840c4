import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import StorageConformance

extension BrokenView: DocumentView {
  /// The lane and the moment whose writes are shown for a lane.
  private func shown(_ lane: Lane) throws(StoreError) -> (ModelView, Lane) {
    switch defect {
    case .mixesOverlays where try view.totals(lane).pending == 0:
      return (view, Lane(tree: lane.tree))
    case .forgetsOverlays:
      let (now, then) = (try view.totals(lane), try? before.totals(lane))
      return (now.newest ?? .init(rawValue: 0)) > (then?.newest ?? .init(rawValue: 0))
        ? (view, Lane(tree: lane.tree, identity: "nobody")) : (view, lane)
    default: return (view, lane)
    }
  }

  func document(_ lane: Lane, _ path: DocumentPath) throws(StoreError) -> Document {
    let (view, lane) = try shown(lane)
    return try view.document(lane, path)
  }

  func overlays(
    _ lane: Lane, in collection: CollectionPath?
  ) throws(StoreError) -> [Overlay] {
    let (view, lane) = try shown(lane)
    return try view.overlays(lane, in: collection)
  }

  func overlaidPaths(
    _ lane: Lane, in collection: CollectionPath?
  ) throws(StoreError) -> [DocumentPath] {
    let (view, lane) = try shown(lane)
    return try view.overlaidPaths(lane, in: collection)
  }

  func query(
    _ lane: Lane, _ query: DocumentQuery, tracked id: QueryID?
  ) throws(StoreError) -> DocumentAnswer {
    let (view, lane) = try shown(lane)
    let asked = defect == .ignoresCursors ? query.withoutCursors : query
    var answer = try view.query(
      lane, asked, tracked: defect == .sharesTargets || asked != query ? nil : id)
    if defect == .trustsMatches, let id {
      let matches = Set(try view.matches(lane.tree, id))
      answer.documents.removeAll { !matches.contains($0.path) }
    }
    let isIndexed = try !view.documentIndexes(lane.tree).isEmpty
    guard defect == .leavesIndexEntries, isIndexed, let old = try? before.query(lane, query) else {
      return answer
    }
    let found = Set(answer.documents.map(\.path))
    answer.documents += old.documents.filter { !found.contains($0.path) }
    return answer
  }

  func document(_ tree: TreeID, _ path: DocumentPath) throws(StoreError) -> Document {
    try view.document(tree, path)
  }
  func documents(
    _ tree: TreeID, in collection: CollectionPath, after: DocumentPath?, limit: Int
  ) throws(StoreError) -> [Document] {
    try view.documents(tree, in: collection, after: after, limit: limit)
  }
  func collections(
    _ tree: TreeID, after: CollectionPath?, limit: Int
  ) throws(StoreError) -> [CollectionPath] {
    try view.collections(tree, after: after, limit: limit)
  }
  func matches(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [DocumentPath] {
    try view.matches(tree, id)
  }
  func matchesVersion(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> MatchesVersion? {
    try view.matchesVersion(tree, id)
  }
  func documentIndexes(_ tree: TreeID) throws(StoreError) -> [DocumentIndexStatus] {
    try view.documentIndexes(tree)
  }
}

extension DocumentQuery {
  /// The same from the first document to the last one.
  fileprivate var withoutCursors: DocumentQuery {
    var query = DocumentQuery(source, in: database)
    for filter in filters { query = (try? query.filtered(filter)) ?? query }
    for order in explicitOrders {
      query = (try? query.ordered(by: order.field, order.direction)) ?? query
    }
    guard let limit else { return query }
    let limited =
      switch limit.side {
      case .first: try? query.limited(to: limit.count)
      case .last: try? query.limited(toLast: limit.count)
      }
    return limited ?? query
  }
}
