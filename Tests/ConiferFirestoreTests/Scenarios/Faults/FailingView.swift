import ConiferDocument
import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree

/// A view that refuses reads as its backend does.
final class FailingView: DocumentView {
  private let view: any DocumentView
  private let faults: StorageFaults

  init(_ view: any DocumentView, _ faults: StorageFaults) {
    self.view = view
    self.faults = faults
  }

  // MARK: Documents

  func document(_ tree: TreeID, _ path: DocumentPath) throws(StoreError) -> Document {
    try faults.check(.readDocument)
    try faults.check(path)
    return try view.document(tree, path)
  }
  func document(_ lane: Lane, _ path: DocumentPath) throws(StoreError) -> Document {
    try faults.check(lane)
    try faults.check(.readDocument)
    try faults.check(path)
    return try view.document(lane, path)
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
  func overlays(_ lane: Lane, in collection: CollectionPath?) throws(StoreError) -> [Overlay] {
    try faults.check(lane)
    return try view.overlays(lane, in: collection)
  }
  func overlaidPaths(
    _ lane: Lane, in collection: CollectionPath?
  ) throws(StoreError) -> [DocumentPath] {
    try faults.check(lane)
    return try view.overlaidPaths(lane, in: collection)
  }
  func query(
    _ lane: Lane, _ query: DocumentQuery, tracked id: QueryID?
  ) throws(StoreError) -> DocumentAnswer {
    try faults.check(lane)
    try faults.check(.readQuery)
    return try view.query(lane, query, tracked: id)
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

  // MARK: The queue

  func lanes(_ tree: TreeID) throws(StoreError) -> [Lane] { try view.lanes(tree) }
  func totals(_ lane: Lane) throws(StoreError) -> QueueTotals {
    try faults.check(lane)
    try faults.check(.readTotals)
    return try view.totals(lane)
  }
  func entry(_ lane: Lane, _ id: WriteID) throws(StoreError) -> QueueEntry? {
    try faults.check(lane)
    try faults.check(.readEntry)
    return try view.entry(lane, id)
  }
  func entries(_ lane: Lane, after: WriteID?, limit: Int) throws(StoreError) -> [QueueEntry] {
    try faults.check(lane)
    try faults.check(.readQueue)
    return try view.entries(lane, after: after, limit: limit)
  }
  func rejectedEntries(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueueEntry] {
    try view.rejectedEntries(lane, after: after, limit: limit)
  }
  func pendingWrites(_ lane: Lane, touching path: Path) throws(StoreError) -> [WriteID] {
    try faults.check(lane)
    return try view.pendingWrites(lane, touching: path)
  }
  func finishedWrite(_ lane: Lane, _ id: WriteID) throws(StoreError) -> FinishedWrite? {
    try view.finishedWrite(lane, id)
  }
  func finishedWrites(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [FinishedWrite] {
    try view.finishedWrites(lane, after: after, limit: limit)
  }
  func queueFloor() throws(StoreError) -> WriteID? { try view.queueFloor() }

  // MARK: What never fails

  func trees() throws(StoreError) -> [TreeInfo] { try view.trees() }
  func node(_ tree: TreeID, _ path: Path, _ slice: NodeSlice) throws(StoreError) -> Node {
    try view.node(tree, path, slice)
  }
  func childKeys(
    _ tree: TreeID, _ path: Path, after: Key?, limit: Int
  ) throws(StoreError) -> [Key] {
    try view.childKeys(tree, path, after: after, limit: limit)
  }
  func query(_ tree: TreeID, _ path: Path, _ spec: QuerySpec) throws(StoreError) -> QueryAnswer {
    try view.query(tree, path, spec)
  }
  func indexes(_ tree: TreeID) throws(StoreError) -> [IndexStatus] { try view.indexes(tree) }
  func trackedQuery(
    _ tree: TreeID, _ path: Path, _ parameters: String
  ) throws(StoreError) -> StoredQuery? {
    try faults.check(.findQuery)
    return try view.trackedQuery(tree, path, parameters)
  }
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
  func lastQuery(_ tree: TreeID) throws(StoreError) -> QueryID? { try view.lastQuery(tree) }
  func pins(_ tree: TreeID) throws(StoreError) -> [Pin] { try view.pins(tree) }
  func metadataNames(
    _ tree: TreeID, after: String?, limit: Int
  ) throws(StoreError) -> [String] {
    try faults.check(.readNames)
    return try view.metadataNames(tree, after: after, limit: limit)
  }
  func metadata(_ tree: TreeID, _ name: String) throws(StoreError) -> [UInt8]? {
    try view.metadata(tree, name)
  }
  func usage(_ tree: TreeID?) throws(StoreError) -> StorageUsage { try view.usage(tree) }
  func incidents(
    after position: IncidentPosition, limit: Int, where isWanted: (Incident) -> Bool
  ) throws(StoreError) -> IncidentWindow {
    try faults.check(.readIncidents)
    return try view.incidents(after: position, limit: limit, where: isWanted)
  }
  func incidentPosition() throws(StoreError) -> IncidentPosition {
    try faults.check(.readIncidents)
    return try view.incidentPosition()
  }
}
