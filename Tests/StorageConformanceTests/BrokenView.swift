import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree
import StorageConformance

/// A view of the model that answers some questions wrongly.
final class BrokenView: StorageView {
  let view: ModelView
  /// The model before the newest commit.
  let before: ModelView
  let defect: ModelBackend.Defect
  private let backend: ModelBackend

  init(
    _ view: ModelView, _ defect: ModelBackend.Defect, _ backend: ModelBackend, before: ModelView
  ) {
    self.view = view
    self.before = before
    self.defect = defect
    self.backend = backend
  }

  func node(_ tree: TreeID, _ path: Path, _ slice: NodeSlice) throws(StoreError) -> Node {
    let node = try view.node(tree, path, slice)
    return defect == .readsStale ? backend.stale(path, node) : node
  }

  func entries(_ lane: Lane, after: WriteID?, limit: Int) throws(StoreError) -> [QueueEntry] {
    guard defect == .mixesRejected else {
      return try view.entries(lane, after: after, limit: limit)
    }
    let both =
      try view.entries(lane, after: after, limit: limit)
      + view.rejectedEntries(lane, after: after, limit: limit)
    return Array(both.sorted { $0.id < $1.id }.prefix(limit))
  }

  func query(
    _ tree: TreeID, _ path: Path, _ spec: QuerySpec
  ) throws(StoreError) -> QueryAnswer {
    var (node, spec) = (try view.node(tree, path, .all), spec)
    if defect == .forgetsIndexRows {
      for child in backend.before(tree, path).children where node[child.key].isEmpty {
        node = node.setting(Path([child.key]), to: child.node)
      }
    }
    if defect == .ignoresBounds {
      var wide = (try? QuerySpec.default.ordered(by: spec.index)) ?? .default
      if let limit = spec.limit {
        let cut =
          limit.side == .first
          ? try? wide.limited(toFirst: limit.count) : try? wide.limited(toLast: limit.count)
        wide = cut ?? wide
      }
      spec = wide
    }
    let children = spec.evaluate(node)
    var explanation = QueryExplanation(.node)
    explanation.children = children.count
    return QueryAnswer(children: children, explanation: explanation)
  }

  func usage(_ tree: TreeID?) throws(StoreError) -> StorageUsage {
    var usage = try view.usage(tree)
    if defect == .miscountsUsage, usage.leaves > 1 { usage.leaves -= 1 }
    guard defect == .neverForgets else { return usage }
    for info in view.trees() where tree == nil || tree == info.id {
      for lane in try view.lanes(info.id) {
        usage.queue += 100 * Int(try view.totals(lane).newest?.rawValue ?? 0)
      }
    }
    return usage
  }

  func trees() -> [TreeInfo] { view.trees() }
  func childKeys(
    _ tree: TreeID, _ path: Path, after: Key?, limit: Int
  ) throws(StoreError) -> [Key] { try view.childKeys(tree, path, after: after, limit: limit) }
  func trackedQuery(
    _ tree: TreeID, _ path: Path, _ parameters: String
  ) throws(StoreError) -> StoredQuery? { try view.trackedQuery(tree, path, parameters) }
  func trackedQuery(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> TrackedQuery? {
    try view.trackedQuery(tree, id)
  }
  func trackedQueries(_ tree: TreeID, at path: Path) throws(StoreError) -> [StoredQuery] {
    try view.trackedQueries(tree, at: path)
  }
  func trackedQueries(_ tree: TreeID, below path: Path) throws(StoreError) -> [StoredQuery] {
    try view.trackedQueries(tree, below: path)
  }
  func trackedQueries(
    _ tree: TreeID, after: QueryID?, limit: Int
  ) throws(StoreError) -> [StoredQuery] {
    try view.trackedQueries(tree, after: after, limit: limit)
  }
  func trackedKeys(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [Key] {
    try view.trackedKeys(tree, id)
  }
  func pins(_ tree: TreeID) throws(StoreError) -> [Pin] { try view.pins(tree) }
  func lanes(_ tree: TreeID) throws(StoreError) -> [Lane] { try view.lanes(tree) }
  func totals(_ lane: Lane) throws(StoreError) -> QueueTotals { try view.totals(lane) }
  func entry(_ lane: Lane, _ id: WriteID) throws(StoreError) -> QueueEntry? {
    try view.entry(lane, id)
  }
  func rejectedEntries(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueueEntry] {
    try view.rejectedEntries(lane, after: after, limit: limit)
  }
  func pendingWrites(_ lane: Lane, touching path: Path) throws(StoreError) -> [WriteID] {
    try view.pendingWrites(lane, touching: path)
  }
  func finishedWrite(_ lane: Lane, _ id: WriteID) throws(StoreError) -> FinishedWrite? {
    try view.finishedWrite(lane, id)
  }
  func metadata(_ tree: TreeID, _ name: String) throws(StoreError) -> [UInt8]? {
    try view.metadata(tree, name)
  }
  func finishedWrites(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [FinishedWrite] {
    try view.finishedWrites(lane, after: after, limit: limit)
  }
  func queueFloor() -> WriteID? { view.queueFloor() }
  func lastQuery(_ tree: TreeID) throws(StoreError) -> QueryID? { try view.lastQuery(tree) }
  func metadataNames(
    _ tree: TreeID, after: String?, limit: Int
  ) throws(StoreError) -> [String] {
    try view.metadataNames(tree, after: after, limit: limit)
  }
  func indexes(_ tree: TreeID) throws(StoreError) -> [IndexStatus] { try view.indexes(tree) }
  func incidents(
    after position: IncidentPosition, limit: Int, where isWanted: (Incident) -> Bool
  ) -> IncidentWindow { view.incidents(after: position, limit: limit, where: isWanted) }
  func incidentPosition() -> IncidentPosition { view.incidentPosition() }
}
