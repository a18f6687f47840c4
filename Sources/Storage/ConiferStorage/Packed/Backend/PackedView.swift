import ConiferKeyValue
import ConiferLeafStore
import ConiferQuery
import ConiferTree

/// The contract's view over a snapshot.
final class PackedView: StorageView {
  let snapshot: LeafSnapshot
  /// Whether indexes may be declared: an encrypted store has none.
  let keepsIndexes: Bool

  init(_ snapshot: LeafSnapshot, keepsIndexes: Bool = true) {
    self.snapshot = snapshot
    self.keepsIndexes = keepsIndexes
  }

  func trees() throws(StoreError) -> [TreeInfo] { try Trees.all(snapshot) }

  private func info(_ tree: TreeID) throws(StoreError) -> TreeInfo {
    try KnownTree.info(snapshot, tree)
  }

  private func runs(_ tree: TreeID) -> RunReader {
    RunReader(view: snapshot, tree: tree)
  }

  private func reader(_ tree: TreeID) throws(StoreError) -> TreeReader {
    try TreeReader(snapshot, tree)
  }

  func node(_ tree: TreeID, _ path: Path, _ slice: NodeSlice) throws(StoreError) -> Node {
    try reader(tree).node(path, slice)
  }

  func childKeys(
    _ tree: TreeID, _ path: Path, after: Key?, limit: Int
  ) throws(StoreError) -> [Key] {
    try reader(tree).childKeys(path, after: after, limit: limit)
  }

  func query(
    _ tree: TreeID, _ path: Path, _ spec: QuerySpec
  ) throws(StoreError) -> QueryAnswer {
    let order = try info(tree).order
    try order.requireNodes()
    var answer = try QueryReader(runs(tree), order).answer(path, spec)
    // An index that the store refuses is no advice.
    if !keepsIndexes { answer.explanation.hint = nil }
    return answer
  }

  func indexes(_ tree: TreeID) throws(StoreError) -> [IndexStatus] {
    _ = try info(tree)
    return try IndexReader.status(snapshot, tree)
  }

  private func queries(_ tree: TreeID) throws(StoreError) -> Queries {
    Queries(view: snapshot, tree: tree, order: try info(tree).order)
  }

  func trackedQuery(
    _ tree: TreeID, _ path: Path, _ parameters: String
  ) throws(StoreError) -> StoredQuery? {
    try queries(tree).find(path, parameters)
  }

  func trackedQuery(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> TrackedQuery? {
    try queries(tree).query(id)
  }

  func trackedQueries(_ tree: TreeID, at path: Path) throws(StoreError) -> [StoredQuery] {
    try queries(tree).at(path)
  }

  func trackedQueries(_ tree: TreeID, below path: Path) throws(StoreError) -> [StoredQuery] {
    try queries(tree).below(path)
  }

  func trackedQueries(
    _ tree: TreeID, after: QueryID?, limit: Int
  ) throws(StoreError) -> [StoredQuery] {
    try queries(tree).window(after: after, limit: limit)
  }

  func trackedKeys(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [Key] {
    try info(tree).order.requireNodes()
    return try queries(tree).keys(id)
  }

  func pins(_ tree: TreeID) throws(StoreError) -> [Pin] {
    _ = try info(tree)
    return try Pins.all(snapshot, tree)
  }

  private func queue(_ lane: Lane) throws(StoreError) -> QueueReader {
    try QueueReader(snapshot, lane, try info(lane.tree).order, snapshot.leaves.codec)
  }

  func lanes(_ tree: TreeID) throws(StoreError) -> [Lane] {
    _ = try info(tree)
    return try QueueReader.lanes(snapshot, tree)
  }

  func totals(_ lane: Lane) throws(StoreError) -> QueueTotals {
    try queue(lane).publicTotals()
  }

  func entry(_ lane: Lane, _ id: WriteID) throws(StoreError) -> QueueEntry? {
    try queue(lane).find(id)?.entry
  }

  func entries(_ lane: Lane, after: WriteID?, limit: Int) throws(StoreError) -> [QueueEntry] {
    try queue(lane).window(.unanswered, after: after, limit: limit)
  }

  func rejectedEntries(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueueEntry] {
    try queue(lane).window(.rejected, after: after, limit: limit)
  }

  func pendingWrites(_ lane: Lane, touching path: Path) throws(StoreError) -> [WriteID] {
    try queue(lane).touching(path)
  }

  func finishedWrite(_ lane: Lane, _ id: WriteID) throws(StoreError) -> FinishedWrite? {
    try queue(lane).finished(id)
  }

  func finishedWrites(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [FinishedWrite] {
    try queue(lane).finished(after: after, limit: limit)
  }

  func queueFloor() throws(StoreError) -> WriteID? {
    let floor = try QueueFloor.read(snapshot)
    return floor == 0 ? nil : WriteID(rawValue: floor)
  }

  func lastQuery(_ tree: TreeID) throws(StoreError) -> QueryID? { try queries(tree).last() }

  func metadataNames(
    _ tree: TreeID, after: String?, limit: Int
  ) throws(StoreError) -> [String] {
    _ = try info(tree)
    return try Metadata.names(snapshot, tree, after: after, limit: limit)
  }

  func metadata(_ tree: TreeID, _ name: String) throws(StoreError) -> [UInt8]? {
    _ = try info(tree)
    return try Metadata.read(snapshot, tree, name)
  }

  func usage(_ tree: TreeID?) throws(StoreError) -> StorageUsage {
    if let tree {
      _ = try info(tree)
      return try UsageRow.read(snapshot, tree).usage
    }
    var sum = StorageUsage()
    for tree in try UsageRow.trees(snapshot) {
      sum.add(try UsageRow.read(snapshot, tree).usage)
    }
    return sum
  }

  func incidents(
    after position: IncidentPosition, limit: Int, where isWanted: (Incident) -> Bool
  ) throws(StoreError) -> IncidentWindow {
    try Incidents.window(snapshot, after: position, limit: limit, where: isWanted)
  }

  func incidentPosition() throws(StoreError) -> IncidentPosition {
    try Incidents.position(snapshot)
  }
}

extension StorageUsage {
  /// Adds the usage of another tree.
  mutating func add(_ other: StorageUsage) {
    runs.add(other.runs)
    deltas.add(other.deltas)
    largeLeaves.add(other.largeLeaves)
    dictionaries.add(other.dictionaries)
    dictionaryCount.add(other.dictionaryCount)
    queue.add(other.queue)
    trackedQueries.add(other.trackedQueries)
    pins.add(other.pins)
    indexes.add(other.indexes)
    self.other.add(other.other)
    leaves.add(other.leaves)
  }
}

extension StorageUsage.Packed {
  fileprivate mutating func add(_ other: StorageUsage.Packed) {
    raw.add(other.raw)
    stored.add(other.stored)
  }
}
