import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

/// The open views: the server's data with the queued writes over it, and who is told what they show.
///
/// A queued write that touches no view stays in the queue alone, and is laid over one when it opens.
final class Views {
  /// When the server last spoke for what is cached, in this run.
  let times: ServerTimes
  /// The tree of the views; it has no cache until storage is open.
  private(set) var tree: SyncTree
  /// What views begin with; nil until storage is open.
  private(set) var cache: (any ServerCache)?
  /// The values of incremented places behind the newest write; nil when the queue has to be read.
  private var incrementedValues: IncrementedValues?
  private let registrations: Registrations
  private let storage: EngineStorage
  private let progress: WriteProgress
  private let clock: ServerClock
  private let outbox: Outbox
  private let post: @Sendable (Step) -> Void

  init(
    _ registrations: Registrations, _ storage: EngineStorage, _ progress: WriteProgress,
    _ clock: ServerClock, _ outbox: Outbox, _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.registrations = registrations
    self.storage = storage
    self.progress = progress
    self.clock = clock
    self.outbox = outbox
    self.post = post
    times = ServerTimes { clock.serverTime }
    tree = SyncTree(cache: nil, times: times)
  }

  /// Has views that open from now on begin with what is cached.
  func use(_ cache: any ServerCache) {
    self.cache = cache
    tree = SyncTree(cache: cache, times: times)
  }

  // MARK: Listeners

  /// Hands the events of a change of the views to the app's listeners, in order and behind what waits for a commit.
  func raise(_ result: SyncResult) {
    for raised in result.events {
      guard let registration = registrations[raised.listener] else { continue }
      let event = raised.event
      guard registration.isOnce else {
        outbox.addCall { registration.raise(event) }
        continue
      }
      outbox.addCall { [registrations] in
        registration.raise(event)
        registrations.forget(registration.id)
      }
      post(.stopObserving(raised.listener))
    }
  }

  /// Ends a listener of the app with an error.
  func cancel(_ id: ListenerID, _ error: DatabaseError) {
    guard let registration = registrations.forget(id) else { return }
    outbox.addCall { registration.cancel(error) }
  }

  /// Ends all listeners of the app with an error.
  func cancelAll(_ error: DatabaseError) {
    for registration in registrations.sorted { cancel(registration.id, error) }
  }

  /// Whether a listener of the app has not ended.
  func isRegistered(_ id: ListenerID) -> Bool { registrations[id] != nil }

  // MARK: Queued writes

  /// Lays a queued write over the views that it concerns, and tells their listeners.
  func show(_ write: QueuedWrite, of lane: Lane) {
    let changes = write.content.changes
    let now = clock.serverTime
    let known = incrementedValues?.apply(write, lane, now: now)
    if known == nil { incrementedValues = nil }
    guard changes.contains(where: { tree.hasView(touching: $0.path.owner) }) else { return }
    let resolved = resolve(write, lane, known, now)
    raise(tree.write(LanePosition(write.id), resolved))
  }

  /// Resolves the server values of a write's changes: increments over what the views show there, else over what is stored,
  /// of which some may be known already. What later increments count from is noted.
  private func resolve(
    _ write: QueuedWrite, _ lane: Lane, _ known: [NodeChange?]?, _ now: Int64
  ) -> [NodeChange] {
    let changes = write.content.changes
    // Where no view is open, the overlay need not hold all queued writes.
    let isHidden = changes.map {
      !$0.node.isIdempotent
        && !(tree.hasView(covering: $0.path.owner) && tree.value(at: $0.path.owner) != nil)
    }
    var stored = known ?? [NodeChange?](repeating: nil, count: changes.count)
    if zip(isHidden, stored).contains(where: { $0 && $1 == nil }) {
      let found = storage.read { (view, _) throws(StoreError) in
        var queue = QueueResolver(view, lane, now: now)
        return try queue.resolve(write)
      }
      if let (entry, next) = found {
        stored = entry.changes
        if let next { incrementedValues = incrementedValues?.joined(next) ?? next }
      }
    }
    return changes.indices.map { index in
      if isHidden[index], let change = stored[index] { return change }
      let change = changes[index]
      return NodeChange(change.path, tree.resolve(change.node, at: change.path, now: now))
    }
  }

  /// What waits in the queue for a view that opens.
  private enum Waiting {
    /// Nothing that does not lie over the views already.
    case shown
    case writes([ResolvedWrite])
  }

  /// Lays the queued writes that touch a path over it, before a view opens there.
  func showQueue(touching path: Path) {
    guard !tree.hasView(covering: path), storage.lane != nil else { return }
    let now = clock.serverTime
    let found = storage.read { (view, lane) throws(StoreError) -> Waiting in
      let waiting = try view.pendingWrites(lane, touching: path)
      guard waiting.contains(where: { !tree.holds(LanePosition($0)) }) else { return .shown }
      var queue = QueueResolver(view, lane, now: now)
      return .writes(try queue.writes(touching: [path]).filter { !hasEnded($0.position, lane) })
    }
    switch found {
    case .shown?: return
    case .writes(let writes)?: for write in writes { tree.load(write.position, write.changes) }
    case nil: break
    }
    // What was read may have been damaged.
    storage.reportIncidents()
  }

  /// The queued writes that touch a path, over what is cached.
  ///
  /// Those that have ended are left out, though what increments behind them counts from them: the cache does not
  /// hold them yet.
  func queuedWrites(touching path: Path) -> [ResolvedWrite] {
    let now = clock.serverTime
    return storage.read { (view, lane) throws(StoreError) in
      var queue = QueueResolver(view, lane, now: now)
      return try queue.writes(touching: [path]).filter { !hasEnded($0.position, lane) }
    } ?? []
  }

  /// The queued writes that touch a target, over what the server has just answered, which holds those that have
  /// ended.
  ///
  /// - Parameter isAnswered: which writes the server has answered, though the store shows them as waiting.
  func queuedWrites(
    over answer: (target: QueryTarget, node: Node),
    isAnswered: @escaping (OutboundWriteID) -> Bool
  ) -> [ResolvedWrite] {
    let (now, progress) = (clock.serverTime, progress)
    return storage.read { (view, lane) throws(StoreError) in
      var queue = QueueResolver(view, lane, now: now, over: answer) { id in
        let id = OutboundWriteID(lane, id)
        return isAnswered(id) || progress.outcome(of: id) != nil
      }
      return try queue.writes(touching: [answer.target.path])
    } ?? []
  }

  /// Shows another lane's queued writes instead of those that are shown.
  ///
  /// - Returns: the newest number of the lane; nil for none, or when it cannot be read.
  func changeLane(to lane: Lane) -> WriteID? {
    let reverted = tree.revertAll()
    incrementedValues = nil
    storage.show(lane)
    raise(reverted)
    let found = storage.read { (view, lane) throws(StoreError) in try queued(view, lane) }
    for entry in found?.entries ?? [] { raise(tree.write(entry.position, entry.changes)) }
    return found?.newest
  }

  /// Shows the lane's queued writes as they are now: another process may have changed the queue.
  ///
  /// - Returns: the newest number of the lane; nil for none.
  /// - Throws: why they cannot be read; what is shown stays as it was then.
  func queueChanged() throws(DatabaseError) -> WriteID? {
    let found = try storage.reading { (view, lane) throws(StoreError) in try queued(view, lane) }
    incrementedValues = nil
    raise(tree.revertQueued())
    for entry in found.entries { raise(tree.write(entry.position, entry.changes)) }
    return found.newest
  }

  /// A lane's queued writes that views show, and its newest number.
  private func queued(
    _ view: any StorageView, _ lane: Lane
  ) throws(StoreError) -> (entries: [ResolvedWrite], newest: WriteID?) {
    var queue = QueueResolver(view, lane, now: clock.serverTime)
    let entries = try queue.writes(touching: tree.viewPaths)
    return (entries.filter { !hasEnded($0.position, lane) }, try view.totals(lane).newest)
  }

  /// Removes a write that the server has done: what it wrote is the server's data now.
  ///
  /// - Parameter isDataMissing: whether the answer is handed on before the server's data could come.
  /// - Returns: what listeners are told.
  func acknowledge(_ id: OutboundWriteID, isDataMissing: Bool) -> SyncResult {
    guard id.lane == storage.lane else { return SyncResult() }
    return tree.acknowledge(LanePosition(id.number), isDataMissing: isDataMissing)
  }

  /// Removes a write that is not done.
  ///
  /// - Returns: what listeners are told.
  func revert(_ id: OutboundWriteID) -> SyncResult {
    guard id.lane == storage.lane else { return SyncResult() }
    return tree.revert(LanePosition(id.number))
  }

  /// Edits are about to be stored, after which the known values of increments may not hold.
  func willStore(_ edits: [StorageEdit]) {
    if let incrementedValues, !edits.allSatisfy(incrementedValues.holds) {
      self.incrementedValues = nil
    }
  }

  /// The storage is closed.
  func close() { incrementedValues = nil }

  /// Whether a write of the queue has ended, though the store shows it as waiting.
  private func hasEnded(_ position: LanePosition, _ lane: Lane) -> Bool {
    progress.outcome(of: OutboundWriteID(lane, WriteID(rawValue: position.number))) != nil
  }
}
