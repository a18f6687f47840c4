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

/// A listen that the server was asked for, and what the store has of it: it is told what comes, and says what is to be
/// committed.
struct ActiveListen {
  /// Whether the store has the record of the listen's query.
  enum Record {
    /// There is no store.
    case none
    /// Not yet, or it could not be stored. A plain one is stored with its first data, so that a listen
    /// costs no commit of its own.
    case new(TrackedQuery)
    /// It is stored with the next commit, which gives it its number: the record as it will be, and as it was before.
    case numbering(TrackedQuery, before: TrackedQuery)
    /// It is stored.
    case stored(StoredQuery)
  }

  /// How much of the listen's data the store has, or will have with the commits that wait.
  enum Coverage {
    /// What was cached before, with what came since; the server has not said that this is all.
    case unconfirmed
    /// All, since the listen began; then the record says that it is complete.
    case complete
    /// Less than the view has, as a commit failed or its record has no number yet: all that the view has is stored
    /// next. The flag tells whether that is all the listen's data.
    case lagging(isComplete: Bool)
  }

  /// The edits that are to be committed for a listen.
  enum Commit {
    case data([StorageEdit])
    /// Data with which the query is complete, and the record as it was before.
    case completion([StorageEdit], before: StoredQuery)
    /// The record of the query behind its first data, if it has any by now; the tree that it is in.
    case record([StorageEdit], TreeID)

    var edits: [StorageEdit] {
      switch self {
      case .data(let edits), .completion(let edits, _), .record(let edits, _): edits
      }
    }
  }

  let listen: Listen
  private var record: Record
  private(set) var coverage = Coverage.unconfirmed
  /// The hash of its data when the server was last asked, so that it is not computed again.
  var hash: ListenHash?

  init(_ listen: Listen, _ record: Record) {
    self.listen = listen
    self.record = record
  }

  /// The stored record of its query; nil when there is none.
  var stored: StoredQuery? { if case .stored(let stored) = record { stored } else { nil } }

  /// Whether the record says that all its data is stored, or will when it is committed.
  var isRecordComplete: Bool {
    switch record {
    case .none: false
    case .new(let query), .numbering(let query, _): query.isComplete
    case .stored(let stored): stored.query.isComplete
    }
  }

  /// Whether the store lacks some of what the view has.
  var isLagging: Bool { if case .lagging = coverage { true } else { false } }

  /// Begins the listen. A filtered one commits its record first, because the keys of its query are
  /// stored under the number that the record is given. Data that comes meanwhile is stored after
  /// that.
  mutating func begin() -> Commit? {
    guard case .new(let query) = record, !query.isDefault else { return nil }
    return save(query, before: query, [])
  }

  /// Takes in data of the listen.
  ///
  /// - Parameters:
  ///   - edits: what stores it; all that the view has, if the store lags behind.
  ///   - isComplete: whether the listen has all its data now.
  ///   - outdated: edits for what is out of date when a plain listen has all its data.
  mutating func store(
    _ edits: [StorageEdit], isComplete: Bool, _ outdated: () -> [StorageEdit]
  ) -> Commit? {
    let isComplete = isComplete || self.isComplete && isLagging
    if isComplete { coverage = isLagging ? .lagging(isComplete: true) : .complete }
    switch record {
    case .none: return nil
    case .new(let query) where !query.isDefault:
      markLagging()
      return begin()
    case .new(let query):
      markCaughtUp()
      var complete = query
      complete.isComplete = query.isComplete || isComplete
      return save(complete, before: query, isComplete ? edits + outdated() : edits)
    case .numbering(let query, _):
      // The first data may still fail to be stored, so the record must not be marked complete here.
      guard query.isDefault, query.isComplete || !isComplete else {
        markLagging()
        return nil
      }
      return edits.isEmpty ? nil : .data(edits)
    case .stored(let stored):
      var edits = isComplete && stored.query.isDefault ? edits + outdated() : edits
      if isComplete && !stored.query.isComplete {
        var query = stored.query
        query.isComplete = true
        edits.append(.saveQuery(query))
        record = .stored(StoredQuery(id: stored.id, query: query))
        markCaughtUp()
        return .completion(edits, before: stored)
      }
      guard !edits.isEmpty else { return nil }
      markCaughtUp()
      return .data(edits)
    }
  }

  private mutating func save(
    _ query: TrackedQuery, before: TrackedQuery, _ edits: [StorageEdit]
  ) -> Commit {
    record = .numbering(query, before: before)
    return .record(edits + [.saveQuery(query)], query.tree)
  }

  /// The record was committed under a number. Nil means that the query is being evicted; the record
  /// is new again.
  mutating func numbered(_ id: QueryID?) {
    guard case .numbering(let query, let before) = record else { return }
    if let id {
      record = .stored(StoredQuery(id: id, query: query))
    } else {
      record = .new(before)
      markLagging()
    }
  }

  /// A commit of the listen failed.
  mutating func failed(_ commit: Commit) {
    markLagging()
    switch commit {
    case .data: break
    case .completion(_, let before): record = .stored(before)
    case .record: if case .numbering(_, let before) = record { record = .new(before) }
    }
  }

  /// Marks the record as incomplete until all data of the listen is stored: the data that was
  /// cached before the listen began may no longer be complete.
  mutating func doubt() {
    guard case .stored(let stored) = record, stored.query.isComplete, !hasStoredAll else { return }
    var query = stored.query
    query.isComplete = false
    record = .stored(StoredQuery(id: stored.id, query: query))
  }

  /// Whether the store has all its data, or will have with the commits that wait.
  var hasStoredAll: Bool { if case .complete = coverage { true } else { false } }

  private var isComplete: Bool {
    switch coverage {
    case .unconfirmed: false
    case .complete: true
    case .lagging(let isComplete): isComplete
    }
  }

  /// The store lacks some of what the view has.
  mutating func markLagging() { coverage = .lagging(isComplete: isComplete) }

  private mutating func markCaughtUp() { coverage = isComplete ? .complete : .unconfirmed }
}
