import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// The listens that the server was asked for, and how far the store knows what each has brought.
final class ServerListens {
  private var active: [QueryTarget: ActiveListen] = [:]
  private var tags: [Int: QueryTarget] = [:]
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

  /// The filtered listen with a tag.
  func target(of tag: Int) -> QueryTarget? { tags[tag] }

  /// Whether a target's query is in the store.
  func isStored(_ target: QueryTarget) -> Bool { active[target]?.stored != nil }

  /// What may end the completeness of the other queries of the store.
  var completeness: QueryCompleteness {
    QueryCompleteness(
      storage: storage, listened: Set(active.values.compactMap { $0.stored?.id }))
  }

  /// The hash of a target's data as the server was last told; nil when it has changed since.
  func hash(of target: QueryTarget) -> ListenHash? { active[target]?.hash }

  /// Whether the server tells of a place by itself: a complete view is open there or above, or a
  /// filtered one above holds it.
  func isListened(_ path: Path) -> Bool {
    if views.tree.isListened(path) { return true }
    for target in active.keys where !target.spec.isDefault && target.path.count < path.count {
      guard target.path.contains(path) else { continue }
      let key = path.keys[target.path.count]
      if views.tree.serverData(of: target)?.node[key].isEmpty == false { return true }
    }
    return false
  }

  // MARK: Begin and end

  /// Asks the server for a listen; what it gives is stored and kept from eviction meanwhile.
  func start(_ listen: Listen) {
    active[listen.target] = ActiveListen(listen: listen)
    if let tag = listen.tag { tags[tag] = listen.target }
    track(listen)
    connection.tell(.listen(listen))
  }

  /// Finds or makes the record of a listen's query, and marks it active.
  private func track(_ listen: Listen) {
    let (path, parameters) = (listen.target.path, listen.target.spec.identifier)
    guard let backend = storage.backend, let lane = storage.lane else { return }
    let stored = storage.read { (view, lane) throws(StoreError) in
      try view.trackedQuery(lane.tree, path, parameters)
    }
    if let stored, let stored, backend.setActive(true, stored.id, in: lane.tree) {
      active[listen.target]?.record = .stored(stored)
      return
    }
    let query = TrackedQuery(tree: lane.tree, path: path, parameters: parameters)
    active[listen.target]?.record = .new(query)
    if !query.isDefault { saveAlone(query, of: listen) }
  }

  /// Ends a listen at the server.
  func end(_ listen: Listen) {
    if let tag = listen.tag { tags[tag] = nil }
    // A listen that began anew in the same step has another tag.
    if isActive(listen) { forget(listen.target) }
    connection.tell(.unlisten(listen))
  }

  /// The server knows a listen no longer: what is stored of it may be evicted, and gets may renew it.
  func forget(_ target: QueryTarget) {
    guard let ended = active.removeValue(forKey: target) else { return }
    if let tag = ended.listen.tag { tags[tag] = nil }
    guard let stored = ended.stored, let backend = storage.backend else { return }
    backend.setActive(false, stored.id, in: stored.query.tree)
  }

  /// Sends a listen with the hash of the data that there is.
  func send(_ listen: Listen, as number: UInt64) {
    let data = views.tree.serverData(of: listen.target)?.node ?? .empty
    let known = active[listen.target]?.hash.flatMap { $0.node.isIdentical(to: data) ? $0 : nil }
    let hash = known ?? ListenHash(data)
    // Of little data it is computed as fast as it is kept.
    active[listen.target]?.hash = hash.compound == nil ? nil : hash
    connection.send(
      .request(
        number,
        .listen(listen.target, tag: listen.tag, hash: hash.plain, compound: hash.compound)))
  }

  // MARK: What is stored

  /// Stores a change of server data at or below a listen's path.
  ///
  /// - Parameters:
  ///   - changes: what changed; their paths are relative to the path.
  ///   - isFiltered: whether it is for the filtered listen alone.
  ///   - windows: what came in to the filtered listens and left them with it.
  ///   - isWhole: whether the listen has all its data now.
  func store(
    _ changes: [NodeChange], at path: Path, of target: QueryTarget, isFiltered: Bool,
    _ windows: [SyncResult.Window], isWhole: Bool
  ) {
    guard let listen = active[target] else { return }
    // Kept longer, it would keep old data in memory.
    active[target]?.hash = nil
    // What could not be stored before is stored as a whole.
    let isWhole =
      isWhole || (path == target.path && changes.first?.path.isRoot == true)
      || (listen.isBehind && listen.isWhole)
    let edits: [StorageEdit]
    if listen.isBehind {
      edits = snapshot(of: target)
    } else if isFiltered {
      let relative = path.relative(to: target.path) ?? .root
      edits =
        self.edits(of: target)?.window(
          changes.map { NodeChange(relative.appending($0.path), $0.node) }, windows) ?? []
    } else {
      edits =
        changes.count == 1 && changes[0].path.isRoot
        ? [.overwrite(storage.tree, path, changes[0].node)] : [.merge(storage.tree, path, changes)]
    }
    store(edits, of: target, isWhole: isWhole)
    if !isFiltered { store(windows) }
  }

  /// Stores that a listen has all its data, and what the store lacks of it.
  func storeComplete(_ target: QueryTarget) {
    guard let listen = active[target] else { return }
    if !listen.isComplete || listen.isBehind {
      store(snapshot(of: target), of: target, isWhole: true)
    } else if !listen.isWhole {
      store([], of: target, isWhole: true)
    }
  }

  /// Stores changes of what filtered listens hold that came with data of another listen.
  func store(_ windows: [SyncResult.Window]) {
    for window in windows {
      guard let listen = active[window.target] else { continue }
      let edits =
        listen.isBehind
        ? snapshot(of: window.target) : self.edits(of: window.target)?.window([], [window]) ?? []
      store(edits, of: window.target, isWhole: false)
    }
  }

  /// Commits server data of a listen, as its record allows; what fails is stored as a whole with the next
  /// update.
  private func store(_ edits: [StorageEdit], of target: QueryTarget, isWhole: Bool) {
    if isWhole { active[target]?.isWhole = true }
    guard let listen = active[target] else { return }
    switch listen.record {
    case .none: break
    case .new(let record):
      guard record.isDefault else {
        active[target]?.isBehind = true
        return saveAlone(record, of: listen.listen)
      }
      storeFirst(edits, of: listen.listen, record, isWhole: isWhole)
    case .numbering(let record):
      // The first data may yet fail: this must not make complete what is not there.
      if !record.isDefault || isWhole && !record.isComplete {
        active[target]?.isBehind = true
      } else if !edits.isEmpty {
        commit(edits, of: target)
      }
    case .stored(let stored): storeNext(edits, of: target, stored, isWhole: isWhole)
    }
  }

  /// Commits the first data of a plain listen, and the record of its query with it.
  private func storeFirst(
    _ edits: [StorageEdit], of listen: Listen, _ record: TrackedQuery, isWhole: Bool
  ) {
    var query = record
    query.isComplete = query.isComplete || isWhole
    var edits = edits
    if isWhole { edits += completeness.outdated(below: listen.target.path) }
    edits.append(.saveQuery(query))
    active[listen.target]?.isBehind = false
    save(edits, of: listen, query, orElse: record)
  }

  /// Commits data of a listen whose record is stored, and that it is complete where it is now.
  private func storeNext(
    _ edits: [StorageEdit], of target: QueryTarget, _ stored: StoredQuery, isWhole: Bool
  ) {
    var edits = edits
    if isWhole, target.spec.isDefault { edits += completeness.outdated(below: target.path) }
    let completes = isWhole && !stored.query.isComplete
    if completes {
      var query = stored.query
      query.isComplete = true
      edits.append(.saveQuery(query))
      active[target]?.record = .stored(StoredQuery(id: stored.id, query: query))
    }
    guard !edits.isEmpty else { return }
    active[target]?.isBehind = false
    commit(edits, of: target) { [self] in
      if completes { active[target]?.record = .stored(stored) }
    }
  }

  private func commit(
    _ edits: [StorageEdit], of target: QueryTarget, orElse failed: @escaping () -> Void = {}
  ) {
    outbox.addEdits(edits) { [self] result in
      guard case .failure(let error) = result else { return }
      notCached(target, error)
      failed()
    }
  }

  /// Commits the record of a filtered listen by itself, as the keys of its query are stored under the
  /// number that it is given; what the listen has by then is stored behind it.
  private func saveAlone(_ record: TrackedQuery, of listen: Listen) {
    save([.saveQuery(record)], of: listen, record, orElse: record)
  }

  /// Commits the record of a listen that is new to the store; when that fails, with the next update.
  private func save(
    _ edits: [StorageEdit], of listen: Listen, _ query: TrackedQuery, orElse old: TrackedQuery
  ) {
    let target = listen.target
    active[target]?.record = .numbering(query)
    outbox.addEdits(edits) { [self] result in
      guard isActive(listen) else { return }
      switch result {
      case .success(let numbers):
        // Of the queries that were saved, its own is the last; one that is being evicted is new again.
        guard let id = numbers.queries.last,
          storage.backend?.setActive(true, id, in: query.tree) == true
        else {
          active[target]?.isBehind = true
          active[target]?.record = .new(old)
          return
        }
        active[target]?.record = .stored(StoredQuery(id: id, query: query))
        guard let active = active[target], active.isBehind else { return }
        store(snapshot(of: target), of: target, isWhole: active.isWhole)
      case .failure(let error):
        notCached(target, error)
        active[target]?.record = .new(old)
      }
    }
  }

  private func notCached(_ target: QueryTarget, _ error: StoreError) {
    logger.error(
      "server data is not cached", metadata: ["target": "\(target)", "cause": "\(error)"])
    active[target]?.isBehind = true
  }

  /// Edits that store all that a view has of the server's data.
  func snapshot(of target: QueryTarget) -> [StorageEdit] { edits(of: target)?.snapshot ?? [] }

  private func edits(of target: QueryTarget) -> ListenEdits? {
    guard let data = views.tree.serverData(of: target)?.node else { return nil }
    return ListenEdits(
      tree: storage.tree, target: target, data: data, query: active[target]?.stored?.id)
  }
}

/// A listen that the server was asked for.
struct ActiveListen {
  /// How far the store knows a listen's query.
  enum Record {
    /// There is no store.
    case none
    /// Not yet, or it could not be stored. A plain one is stored with its first data, so that a listen
    /// costs no commit of its own.
    case new(TrackedQuery)
    /// With the next commit, which gives it its number.
    case numbering(TrackedQuery)
    /// It is stored.
    case stored(StoredQuery)
  }

  let listen: Listen
  var record = Record.none
  /// Whether all its data was stored since it began.
  var isWhole = false
  /// Whether storage lacks some of what the view shows, as a commit failed.
  var isBehind = false
  /// The hash of its data when the server was last asked, so that it is not computed again.
  var hash: ListenHash?

  /// What is stored of it; nil when nothing is.
  var stored: StoredQuery? {
    if case .stored(let stored) = record { stored } else { nil }
  }

  /// Whether all its data is stored, or about to be.
  var isComplete: Bool {
    switch record {
    case .none: false
    case .new(let query), .numbering(let query): query.isComplete
    case .stored(let stored): stored.query.isComplete
    }
  }
}
