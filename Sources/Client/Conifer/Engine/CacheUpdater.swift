import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

/// Brings the cache up to date with the server's answers to writes and reads, where no listen does.
final class CacheUpdater {
  /// The edits that bring the cache up to date with an acknowledged write, and the places whose new
  /// values only the server knows.
  struct Update {
    var edits: [StorageEdit] = []
    /// Records of places that are known completely by it.
    var records: [StorageEdit] = []
    /// Places whose values only the server knows now.
    var unknown: [Path] = []
  }

  /// Records of complete data that wait for the next commit: a read of the store does not find them yet.
  private var newRecords: [TrackedQuery] = []
  /// How many places of one write are cached that nobody asked for: a backend keeps 1,000 queries that nobody listens to.
  private static let mostCached = 100

  /// Places whose values were asked for, and the queries that are complete when they come.
  private var awaited = AwaitedValues()
  /// How many reports of damage were known when ``awaited`` was last used.
  private var incidentCount = 0
  private let storage: EngineStorage
  private let views: Views
  private let listens: ServerListens
  private let outbox: Outbox

  init(_ storage: EngineStorage, _ views: Views, _ listens: ServerListens, _ outbox: Outbox) {
    self.storage = storage
    self.views = views
    self.listens = listens
    self.outbox = outbox
  }

  /// The waiting edits are about to be committed.
  func willCommit() { newRecords = [] }

  // MARK: Acknowledged writes

  /// Takes in an acknowledged write.
  ///
  /// - Parameters:
  ///   - isDataMissing: whether the connection broke before the listens there were answered, so that open views may
  ///     lack the write too.
  ///   - id: the write.
  /// - Returns: the edits that put it into the cache.
  func acknowledge(_ changes: [NodeChange], isDataMissing: Bool, of id: OutboundWriteID) -> Update {
    let tree = storage.tree
    let completeness = listens.completeness
    var cached = Update()
    let isMuch = changes.count > Self.mostCached || isQueueLong(behind: id)
    // Priorities come after the data that they belong to.
    let isPriority = { (change: NodeChange) in change.path.last?.isPriority == true }
    for change in changes.filter({ !isPriority($0) }) + changes.filter(isPriority) {
      let owner = change.path.owner
      // Only the server knows whether the new value still belongs to the result of a query above.
      cached.edits += completeness.outdated(above: owner)
      let isCurrent = listens.keepsCurrent(owner)
      if isCurrent, !isDataMissing { continue }
      if isMuch, !isCurrent, isUntouched(owner) {
        // A query above that waits for another value must not be marked complete: this write is not
        // cached.
        awaited.forget(owner)
        continue
      }
      if change.node.hasServerValues {
        // The open listen brings the value.
        if isCurrent { continue }
        guard !isMuch else {
          // Hundreds of reads would be asked for, or wait behind a long queue. The next listen brings the value
          // instead.
          cached.edits += unknown(around: owner)
          awaited.forget(owner)
          continue
        }
        cached.edits += beginAwaiting(owner)
        cached.unknown.append(owner)
        continue
      }
      cached.edits.append(.overwrite(tree, change.path, change.node))
      cached.edits += completeness.outdated(below: owner)
      if isDataMissing {
        listens.markListensLagging(around: owner)
      } else if views.tree.hasView(within: change.path) {
        // Open views below may have newer data, because answers to writes can be held back.
        for target in listens.targets where change.path.contains(target.path) {
          cached.edits += listens.snapshot(of: target)
        }
      }
      if isPriority(change) || isComplete(change.path) { continue }
      let record = TrackedQuery(
        tree: tree, path: change.path, isComplete: true, isKnownMissing: change.node.isEmpty)
      newRecords.append(record)
      cached.records.append(.saveQuery(record))
    }
    return cached
  }

  /// Handles that the answer to a write could not be stored. When storing is tried again the cache
  /// may have newer data, so the value is read from the server instead.
  ///
  /// - Returns: the places to ask for.
  func acknowledgeFailed(_ paths: [Path]) -> [Path] {
    let paths = paths.filter { !listens.keepsCurrent($0) }
    for path in paths { awaited.forget(path) }
    return paths
  }

  /// Edits that mark as incomplete the queries that hold a place, or part of it, which an earlier write changed; all
  /// but those of listens that have brought all their data since.
  func completenessLost(around path: Path) -> [StorageEdit] {
    listens.completenessLost(around: path)
  }

  /// Whether so many writes were queued behind one that what is cached now would soon be evicted,
  /// together with what the app listened to: a backend keeps 1,000 queries that nobody listens to.
  private func isQueueLong(behind id: OutboundWriteID) -> Bool {
    let totals = storage.read { (view, _) throws(StoreError) in try view.totals(id.lane) }
    guard let totals, totals.pending > 100, let newest = totals.newest else { return false }
    // The count alone does not tell, because it includes writes of other kinds that are never sent.
    return newest.rawValue >= id.number.rawValue + 100
  }

  /// Whether no view and no query of the store depends on a place: nothing is open or tracked at it or below, and nothing
  /// that holds it is complete.
  private func isUntouched(_ path: Path) -> Bool {
    if views.tree.hasView(within: path) || newRecords.contains(where: { $0.path.touches(path) }) {
      return false
    }
    return storage.read { (view, lane) throws(StoreError) in
      if try view.isComplete(lane.tree, path) { return false }
      let found =
        try view.trackedQueries(lane.tree, at: path)
        + view.trackedQueries(lane.tree, below: path)
      return found.isEmpty
    } ?? false
  }

  /// Whether the cache holds all at a place.
  private func isComplete(_ path: Path) -> Bool {
    storage.read { (view, lane) throws(StoreError) in try view.isComplete(lane.tree, path) }
      ?? false
  }

  /// Makes queries the most recently used ones.
  func touch(_ queries: some Sequence<QueryID>, in tree: TreeID) {
    for query in queries where storage.backend?.setActive(true, query, in: tree) == true {
      storage.backend?.setActive(false, query, in: tree)
    }
  }

  // MARK: Places whose values only the server knows

  /// Stops waiting for the value of a place. The queries that hold it stay incomplete until they
  /// are listened to.
  func stopAwaiting(_ path: Path) { awaited.forget(path) }

  /// Begins to wait for the value of a place: returns edits that mark the queries that hold it as
  /// incomplete until the server sends the value.
  private func beginAwaiting(_ path: Path) -> [StorageEdit] {
    let edits = unknown(around: path)
    let above = edits.compactMap { edit -> StoredQuery? in
      guard case .saveQuery(let query) = edit, query.isDefault, query.path.contains(path),
        let stored = storage.read({ (view, lane) throws(StoreError) in
          try view.trackedQuery(lane.tree, query.path, query.parameters)
        }), let stored
      else { return nil }
      return StoredQuery(id: stored.id, query: query)
    }
    forgetAfterDamage()
    awaited.wait(for: path, above)
    return edits
  }

  /// Another process may have changed the store: queries may be others, or gone.
  func storeChanged() { awaited = AwaitedValues() }

  /// Stops waiting for all values when new damage was found: queries may be incomplete because of
  /// the damage.
  private func forgetAfterDamage() {
    if storage.incidentCount > incidentCount { awaited = AwaitedValues() }
    incidentCount = storage.incidentCount
  }

  /// The value of a place has arrived: returns edits that mark as complete the queries that waited
  /// for this value alone.
  private func endAwaiting(_ path: Path) -> [StorageEdit] {
    storage.reportIncidents()
    forgetAfterDamage()
    return awaited.resolve(path).compactMap { whole in
      let stored = storage.read { (view, lane) throws(StoreError) in
        try view.trackedQuery(lane.tree, whole.query.path, whole.query.parameters)
      }
      // It may be evicted by now.
      guard let stored, var query = stored?.query, stored?.id == whole.id else { return nil }
      query.isComplete = true
      return .saveQuery(query)
    }
  }

  /// Edits that mark as incomplete the queries that hold a place, or part of it, whose value is not
  /// known now.
  private func unknown(around path: Path) -> [StorageEdit] {
    let new = newRecords.filter { $0.path.touches(path) }
    return listens.completeness.unknown(around: path)
      + new.map { record in
        var record = record
        record.isComplete = false
        return .saveQuery(record)
      }
  }

  // MARK: Reads

  /// Puts what the server answered to a read into the cache; a filtered query's answer is complete for
  /// that query alone.
  func store(_ node: Node, of target: QueryTarget) {
    guard let lane = storage.lane, !listens.contains(target),
      !views.tree.hasWholeView(covering: target.path)
    else { return awaited.forget(target.path) }
    // Updates that follow are newer, and must find this in the store.
    outbox.holdActions()
    let (path, parameters) = (target.path, target.spec.identifier)
    let stored = storage.read { (view, lane) throws(StoreError) in
      try view.trackedQuery(lane.tree, path, parameters)
    }
    var query =
      (stored ?? nil)?.query ?? TrackedQuery(tree: lane.tree, path: path, parameters: parameters)
    guard !target.spec.isDefault else {
      query.isComplete = true
      query.isKnownMissing = node.isEmpty
      let completeness = listens.completeness
      let edits =
        [.overwrite(lane.tree, path, node), .saveQuery(query)]
        + completeness.outdated(below: path) + completeness.outdated(above: path)
        + endAwaiting(path)
      outbox.addEdits(edits) { [self] result in
        guard case .success(let numbers) = result else { return }
        touch(numbers.queries.prefix(1), in: lane.tree)
        views.times.note(target, at: views.times.now)
      }
      return
    }
    guard let known = stored, let known else {
      // Keys are stored under the query's number, which the first commit gives.
      outbox.addEdits([.saveQuery(query)]) { [self] result in
        guard case .success(let numbers) = result, let id = numbers.queries.first else { return }
        storeFiltered(node, of: target, StoredQuery(id: id, query: query))
      }
      return
    }
    storeFiltered(node, of: target, known)
  }

  private func storeFiltered(_ node: Node, of target: QueryTarget, _ stored: StoredQuery) {
    var query = stored.query
    query.isComplete = true
    var edits = node.children.map {
      StorageEdit.overwrite(query.tree, query.path.appending($0.key), $0.node)
    }
    edits += listens.completeness.outdated(above: query.path)
    edits.append(.saveQuery(query))
    edits.append(.setTrackedKeys(query.tree, stored.id, node.children.map(\.key)))
    outbox.holdActions()
    outbox.addEdits(edits) { [self] result in
      guard case .success = result else { return }
      touch([stored.id], in: query.tree)
      views.times.note(target, at: views.times.now)
    }
  }
}

/// Places whose values only the server knows, as acknowledged writes with server values changed them, and the queries
/// that are incomplete until they are told.
struct AwaitedValues {
  private var waiting: [QueryID: (query: StoredQuery, places: Set<Path>)] = [:]

  /// Complete queries become incomplete until the value at a place is known; those that wait already for
  /// another place wait for this one too.
  mutating func wait(for place: Path, _ complete: [StoredQuery]) {
    for stored in complete { waiting[stored.id, default: (stored, [])].places.insert(place) }
    for (id, entry) in waiting where entry.query.query.path.contains(place) {
      waiting[id]?.places.insert(place)
    }
  }

  /// The value at a place is known.
  ///
  /// - Returns: the queries that are complete with it.
  mutating func resolve(_ place: Path) -> [StoredQuery] {
    var whole: [StoredQuery] = []
    for (id, entry) in waiting where entry.places.contains(place) {
      waiting[id]?.places.remove(place)
      guard entry.places.count == 1 else { continue }
      waiting[id] = nil
      whole.append(entry.query)
    }
    return whole.sorted { $0.id < $1.id }
  }

  /// The value at a place stays unknown: its queries stay incomplete until they are listened to.
  mutating func forget(_ place: Path) {
    waiting = waiting.filter { !$0.value.query.query.path.contains(place) }
  }
}
