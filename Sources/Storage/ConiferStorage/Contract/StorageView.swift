public import ConiferKeyValue
public import ConiferQuery
public import ConiferTree

/// A frozen state of a store, readable for the length of a closure.
///
/// Every read of one view sees the same commit. Reads write nothing, except that in a cache a read that
/// meets damage repairs it first, in commits of its own.
/// Each throws `io`, `closed`, `damaged` (an authority's data, or damage that could not be set
/// aside) and `invalid` (an unknown tree).
public protocol StorageView: AnyObject {
  /// The trees of the store, oldest first.
  func trees() throws(StoreError) -> [TreeInfo]

  /// The cached node at a path, or the slice of it that was asked for; empty when there is none.
  func node(_ tree: TreeID, _ path: Path, _ slice: NodeSlice) throws(StoreError) -> Node
  /// The keys of a node's children after a key, at most `limit` of them, without their subtrees.
  func childKeys(_ tree: TreeID, _ path: Path, after: Key?, limit: Int) throws(StoreError) -> [Key]

  /// The children of a path that a query gives, in its order, as `QuerySpec.evaluate` gives them of
  /// the whole node; reads no more than its plan needs.
  func query(_ tree: TreeID, _ path: Path, _ spec: QuerySpec) throws(StoreError) -> QueryAnswer
  /// The declared indexes of a tree, in the order of their declaration; counts their entries by a
  /// scan.
  func indexes(_ tree: TreeID) throws(StoreError) -> [IndexStatus]

  /// A tracked query by what it is known by.
  func trackedQuery(_ tree: TreeID, _ path: Path, _ parameters: String) throws(StoreError)
    -> StoredQuery?
  /// A tracked query by its number.
  func trackedQuery(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> TrackedQuery?
  /// The tracked queries at exactly a path.
  func trackedQueries(_ tree: TreeID, at path: Path) throws(StoreError) -> [StoredQuery]
  /// The tracked queries at the children of a path and deeper.
  func trackedQueries(_ tree: TreeID, below path: Path) throws(StoreError) -> [StoredQuery]
  /// A window of a tree's tracked queries, by number.
  func trackedQueries(_ tree: TreeID, after: QueryID?, limit: Int) throws(StoreError)
    -> [StoredQuery]
  /// The keys that a filtered query holds, in the tree's key order.
  func trackedKeys(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [Key]

  /// The pins of a tree, in path order.
  func pins(_ tree: TreeID) throws(StoreError) -> [Pin]

  /// The lanes of a tree that hold or held writes.
  func lanes(_ tree: TreeID) throws(StoreError) -> [Lane]
  /// What a lane holds, without reading it.
  func totals(_ lane: Lane) throws(StoreError) -> QueueTotals
  /// One write of a lane that is not finished.
  func entry(_ lane: Lane, _ id: WriteID) throws(StoreError) -> QueueEntry?
  /// A window of the writes that wait for an answer, by number.
  func entries(_ lane: Lane, after: WriteID?, limit: Int) throws(StoreError) -> [QueueEntry]
  /// A window of the rejected writes, by number.
  func rejectedEntries(_ lane: Lane, after: WriteID?, limit: Int) throws(StoreError)
    -> [QueueEntry]
  /// The numbers of the waiting writes that change something at, above or below a path.
  func pendingWrites(_ lane: Lane, touching path: Path) throws(StoreError) -> [WriteID]
  /// How a remembered write ended, or nil.
  func finishedWrite(_ lane: Lane, _ id: WriteID) throws(StoreError) -> FinishedWrite?

  /// A window of the remembered ends of a lane's writes, by number.
  func finishedWrites(_ lane: Lane, after: WriteID?, limit: Int) throws(StoreError)
    -> [FinishedWrite]
  /// The number above which new writes of all lanes are numbered, so that lost numbers do not repeat;
  /// nil while no loss took writes.
  func queueFloor() throws(StoreError) -> WriteID?
  /// The last number that a query of a tree was given, or nil.
  func lastQuery(_ tree: TreeID) throws(StoreError) -> QueryID?
  /// A window of the names of a tree's metadata, in the order of their UTF-8.
  func metadataNames(_ tree: TreeID, after: String?, limit: Int) throws(StoreError) -> [String]

  /// The bytes stored under a name in a tree.
  func metadata(_ tree: TreeID, _ name: String) throws(StoreError) -> [UInt8]?
  /// What the records of one tree take, or of the whole store.
  func usage(_ tree: TreeID?) throws(StoreError) -> StorageUsage
  /// A window of the reports of damage that were made after a position and are still kept, by tree, the oldest first. In each
  /// tree, those of writes that were set aside come last; of the others the newest 256 are kept.
  ///
  /// It ends after `limit` reports, or after the one with which it has 1 MiB of their bytes: a report may have those of a
  /// whole write. Reports of a tree whose encryption key is missing are left out.
  ///
  /// - Parameters:
  ///   - position: the `end` of the window before, or an `incidentPosition()`; without numbers, the beginning.
  ///   - limit: the most reports to give; one at least is given.
  ///   - isWanted: tells which reports to give; the others do not count.
  /// - Throws: as all reads: `io`, `closed`, `damaged`.
  func incidents(
    after position: IncidentPosition, limit: Int, where isWanted: (Incident) -> Bool
  ) throws(StoreError) -> IncidentWindow
  /// The position behind the last report.
  func incidentPosition() throws(StoreError) -> IncidentPosition
}

extension StorageView {
  /// The cached node at a path.
  public func node(_ tree: TreeID, _ path: Path) throws(StoreError) -> Node {
    try node(tree, path, .all)
  }

  /// The reports of damage that were made after a position, all at once with their bytes, which may be many.
  ///
  /// - Parameter position: an `incidentPosition()`; the beginning, unless another is given.
  /// - Throws: as the view's reads.
  public func incidents(
    after position: IncidentPosition = IncidentPosition()
  ) throws(StoreError) -> [Incident] {
    var all: [Incident] = []
    try forEachIncident(after: position) { all.append($0) }
    return all
  }

  /// Whether all that a query needs is cached: it is complete itself, or the default query at its
  /// path or above is.
  ///
  /// - Throws: as the view's reads.
  public func isComplete(
    _ tree: TreeID, _ path: Path, _ parameters: String = TrackedQuery.defaultParameters
  ) throws(StoreError) -> Bool {
    if let own = try trackedQuery(tree, path, parameters), own.query.isComplete { return true }
    var place: Path? = path
    while let here = place {
      let above = try trackedQuery(tree, here, TrackedQuery.defaultParameters)
      if let above, above.query.isComplete { return true }
      place = here.parent
    }
    return false
  }

  /// The children of a path whose whole subtree is known: those that a filtered query there holds,
  /// and those with a complete default query of their own.
  ///
  /// - Throws: as the view's reads.
  package func knownCompleteChildren(_ tree: TreeID, _ path: Path) throws(StoreError) -> Set<Key> {
    var known: Set<Key> = []
    for stored in try trackedQueries(tree, at: path) where !stored.query.isDefault {
      known.formUnion(try trackedKeys(tree, stored.id))
    }
    for stored in try trackedQueries(tree, below: path)
    where stored.query.isDefault && stored.query.isComplete {
      if stored.query.path.count == path.count + 1, let key = stored.query.path.last {
        known.insert(key)
      }
    }
    return known
  }
}
