import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// The listens that the server was asked for, and what the store has of each.
final class ServerListens {
  private var active: [QueryTarget: ActiveListen] = [:]
  private let storage: EngineStorage
  private let views: Views
  private let connection: Connection
  private let outbox: Outbox
  private let logger: Logger

  init(
    _ storage: EngineStorage, _ views: Views, _ connection: Connection, _ outbox: Outbox,
    _ logger: Logger
  ) {
    self.storage = storage
    self.views = views
    self.connection = connection
    self.outbox = outbox
    self.logger = logger
  }

  // MARK: Which there are

  /// The targets of all.
  var targets: some Collection<QueryTarget> { active.keys }

  func contains(_ target: QueryTarget) -> Bool { active[target] != nil }

  /// Whether a listen is the one that there is of its target.
  func isActive(_ listen: Listen) -> Bool { active[listen.target]?.listen == listen }

  /// The target of the filtered listen with a tag.
  func target(ofTag tag: Int) -> QueryTarget? {
    views.tree.target(ofTag: tag).flatMap { contains($0) ? $0 : nil }
  }

  /// The completeness of those queries of the store that no listen keeps up to date.
  var completeness: QueryCompleteness {
    QueryCompleteness(
      storage: storage, listened: Set(active.values.compactMap { $0.stored?.id }))
  }

  /// Edits that mark as incomplete the queries that hold a place, or part of it; all but those of listens that have
  /// brought all their data since they began. Other listens mark theirs complete again when they have.
  func completenessLost(around path: Path) -> [StorageEdit] {
    for target in active.keys where target.path.touches(path) { active[target]?.doubt() }
    let complete = active.values.filter(\.hasStoredAll).compactMap { $0.stored?.id }
    return QueryCompleteness(storage: storage, listened: Set(complete)).unknown(around: path)
  }

  /// Whether the server sends, or will send, changes of a place without being asked: an open listen
  /// without a filter covers it, or the child that holds it was sent for a filtered listen above.
  func keepsCurrent(_ path: Path) -> Bool {
    if views.tree.hasWholeView(covering: path) { return true }
    for target in active.keys where !target.spec.isDefault && target.path.count < path.count {
      guard target.path.contains(path) else { continue }
      let key = path.keys[target.path.count]
      if views.tree.sentData(of: target)?[key].isEmpty == false { return true }
    }
    return false
  }

  /// A listen that has any of a place: one at it, below it or above it, unless that one has a filter and lacks the child
  /// that the place is in; nil for none.
  func user(of path: Path) -> QueryTarget? {
    targets.first { target in
      guard target.path.count < path.count else { return path.contains(target.path) }
      guard target.path.contains(path), !target.spec.isDefault else {
        return target.path.contains(path)
      }
      return views.tree.sentData(of: target)?[path.keys[target.path.count]].isEmpty == false
    }
  }

  /// Marks the listens around a place as lagging, after an acknowledged write was cached that newer
  /// server data may replace. Their next data or answer then stores all that their views have.
  func markListensLagging(around path: Path) {
    for target in active.keys where target.path.touches(path) { active[target]?.markLagging() }
  }

  // MARK: Begin and end

  /// Asks the server for a listen; what it gives is stored and kept from eviction meanwhile.
  func start(_ listen: Listen) {
    active[listen.target] = ActiveListen(listen, activateRecord(of: listen.target))
    commit(active[listen.target]?.begin(), of: listen)
    connection.tell(.listen(listen))
  }

  /// Finds the record of a query and marks it active, or makes one.
  private func activateRecord(of target: QueryTarget) -> ActiveListen.Record {
    let (path, parameters) = (target.path, target.spec.identifier)
    guard let backend = storage.backend, let lane = storage.lane else { return .none }
    let found = storage.read { (view, lane) throws(StoreError) in
      try view.trackedQuery(lane.tree, path, parameters)
    }
    if let stored = found ?? nil, backend.setActive(true, stored.id, in: lane.tree) {
      return .stored(stored)
    }
    return .new(TrackedQuery(tree: lane.tree, path: path, parameters: parameters))
  }

  /// Another process may have changed the store: the records of all listens are looked for again.
  func storeChanged() {
    for (target, listen) in active.map({ ($0.key, $0.value.listen) }) {
      active[target] = ActiveListen(listen, activateRecord(of: target))
      commit(active[target]?.begin(), of: listen)
      // The store may lack data that the view has, and that the server does not send again.
      active[target]?.markLagging()
    }
  }

  /// Ends a listen at the server.
  func end(_ listen: Listen) {
    // A listen that began anew in the same step has another tag.
    if isActive(listen) { forget(listen.target) }
    connection.tell(.unlisten(listen))
  }

  /// Forgets a listen that the server no longer has. Its cached data may be evicted, and reads may
  /// replace it.
  func forget(_ target: QueryTarget) {
    guard let stored = active.removeValue(forKey: target)?.stored, let backend = storage.backend
    else { return }
    backend.setActive(false, stored.id, in: stored.query.tree)
  }

  /// Sends a listen with the hash of the data that there is.
  func send(_ listen: Listen, as number: UInt64) {
    let data = views.tree.sentData(of: listen.target) ?? .empty
    let known = active[listen.target]?.hash.flatMap { $0.node.isIdentical(to: data) ? $0 : nil }
    let hash = known ?? ListenHash(data)
    // The hash of little data costs no more than keeping it.
    active[listen.target]?.hash = hash.compound == nil ? nil : hash
    connection.send(
      .request(
        number,
        .listen(listen.target, tag: listen.tag, hash: hash.plain, compound: hash.compound)))
  }

  // MARK: What the server sends

  /// Has an update of server data at or below a listen's path stored.
  ///
  /// - Parameters:
  ///   - changes: what changed; their paths are relative to the path.
  ///   - isFiltered: whether it is for the filtered listen alone.
  ///   - windowChanges: what came in to the filtered listens and left them with it.
  ///   - isComplete: whether the listen has all its data now.
  func storeUpdate(
    _ changes: [NodeChange], at path: Path, of target: QueryTarget, isFiltered: Bool,
    _ windowChanges: [SyncResult.WindowChange], isComplete: Bool
  ) {
    guard active[target] != nil else { return }
    // A hash that is kept also keeps the old data in memory.
    active[target]?.hash = nil
    let replacesAll = path == target.path && changes.first?.path.isRoot == true
    store(of: target, isComplete: isComplete || replacesAll) {
      if isFiltered {
        let relative = path.relative(to: target.path) ?? .root
        let changes = changes.map { NodeChange(relative.appending($0.path), $0.node) }
        return edits(of: target)?.window(changes, windowChanges) ?? []
      }
      return changes.count == 1 && changes[0].path.isRoot
        ? [.overwrite(storage.tree, path, changes[0].node)] : [.merge(storage.tree, path, changes)]
    }
    if !isFiltered { storeWindows(windowChanges) }
  }

  /// Has changes of what filtered listens hold stored that came with data of another listen.
  private func storeWindows(_ changes: [SyncResult.WindowChange]) {
    for change in changes where contains(change.target) {
      store(of: change.target, isComplete: false) {
        edits(of: change.target)?.window([], [change]) ?? []
      }
    }
  }

  /// Stores that a listen has all its data, after the server answered it, and the data that the
  /// store lacks.
  func storeAnswer(_ target: QueryTarget) {
    switch active[target]?.coverage {
    case .complete, nil: break
    case .unconfirmed where active[target]?.isRecordComplete == true:
      store(of: target, isComplete: true) { [] }
    case .unconfirmed, .lagging: store(of: target, isComplete: true) { snapshot(of: target) }
    }
  }

  /// Commits server data of a listen: the change, or all data of the view when the store lags
  /// behind it.
  private func store(of target: QueryTarget, isComplete: Bool, _ change: () -> [StorageEdit]) {
    guard var listen = active[target] else { return }
    let edits = listen.isLagging ? snapshot(of: target) : change()
    let commit = listen.store(edits, isComplete: isComplete) {
      completeness.outdated(below: target.path)
    }
    active[target] = listen
    self.commit(commit, of: listen.listen)
  }

  private func commit(_ commit: ActiveListen.Commit?, of listen: Listen) {
    guard let commit else { return }
    outbox.addEdits(commit.edits) { [self] result in
      switch (result, commit) {
      case (.success, .data), (.success, .completion): break
      case (_, .record) where !isActive(listen): break
      case (.success(let numbers), .record(_, let tree)):
        // The commit's last saved query is the listen's own. One that is being evicted must be
        // saved anew.
        var id = numbers.queries.last
        if let found = id, storage.backend?.setActive(true, found, in: tree) != true { id = nil }
        active[listen.target]?.numbered(id)
        if id != nil, active[listen.target]?.isLagging == true {
          store(of: listen.target, isComplete: false) { [] }
        }
      case (.failure(let error), _):
        logger.error(
          "server data is not cached",
          metadata: ["target": "\(listen.target)", "cause": "\(error)"])
        active[listen.target]?.failed(commit)
      }
    }
  }

  /// Edits that store all that a view has of the server's data.
  func snapshot(of target: QueryTarget) -> [StorageEdit] { edits(of: target)?.snapshot ?? [] }

  private func edits(of target: QueryTarget) -> ListenEdits? {
    guard let data = views.tree.sentData(of: target) else { return nil }
    return ListenEdits(
      tree: storage.tree, target: target, data: data, query: active[target]?.stored?.id)
  }
}
