import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// Reads that wait for the server.
struct Gets {
  private var waiting: [OperationID: GetRequest] = [:]
  private var last: UInt64 = 0

  mutating func add(_ request: GetRequest) -> OperationID {
    last += 1
    let id = OperationID(rawValue: last)
    waiting[id] = request
    return id
  }

  mutating func remove(_ id: OperationID) -> GetRequest? { waiting.removeValue(forKey: id) }

  mutating func removeAll() -> [GetRequest] {
    defer { waiting = [:] }
    return waiting.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
  }
}

extension Engine {
  /// Asks the server for data once.
  func begin(_ request: GetRequest) {
    if request.target.path.first == .info {
      let node = info.node(request.target)
      outbox.append { request.completion(.success(node)) }
      return
    }
    guard backend != nil else {
      let error = phaseError
      outbox.append { request.completion(.failure(error)) }
      return
    }
    if let node = tree.shown(of: request.target) {
      outbox.append { request.completion(.success(node)) }
      return
    }
    guard setup.transport != nil else {
      return answerFromCache(request, .unreachable(request.target))
    }
    ask(request)
  }

  /// Ends a read that waits behind writes for the token provider when it has waited as long as reads may.
  func limit(_ request: GetRequest) {
    let longest = ConnectionLimits().getTime
    setup.clock.wake(at: request.issued + longest) { [weak self] in
      self?.post(
        .ask { engine in
          let oldest = engine.setup.clock.now - longest
          let ended = engine.identity.remove { step in
            if case .get(let request) = step { request.issued <= oldest } else { false }
          }
          for case .get(let read) in ended {
            engine.answerFromCache(read, .unreachable(read.target))
          }
        })
    }
  }

  private func ask(_ request: GetRequest) { tell(.get(gets.add(request), request.target)) }

  /// Asks the server what it made of an acknowledged write with server values, for the cache.
  func refresh(_ path: Path) {
    guard backend != nil else { return }
    ask(GetRequest(target: QueryTarget(path), issued: setup.clock.now) { _ in })
  }

  func getAnswered(_ id: OperationID, _ response: Response) {
    guard let request = gets.remove(id) else { return }
    let target = request.target
    if let error = DatabaseError(local: response, "Reading \(target) failed") {
      guard response.status != .permissionDenied else {
        // What is cached may be what another user was allowed to read.
        openIncrements.forget(target.path)
        return outbox.append { request.completion(.failure(error)) }
      }
      return answerFromCache(request, error)
    }
    let node = waitingLaid(over: response.node, of: target)
    store(response.node, of: target.normalized)
    add([]) { [self] _ in outbox.append { request.completion(.success(node)) } }
  }

  /// The server cannot be asked.
  func getUnavailable(_ id: OperationID) {
    guard let request = gets.remove(id) else { return }
    answerFromCache(request, .unreachable(request.target))
  }

  /// The server did not give it: what is known completely is the answer, else the error.
  private func answerFromCache(_ request: GetRequest, _ error: DatabaseError) {
    openIncrements.forget(request.target.path)
    let result: Result<Node, DatabaseError> =
      known(request.target).map { .success($0) } ?? .failure(error)
    if case .success = result {
      setup.logger.info(
        "a read is answered from the cache", metadata: ["cause": "\(error.message)"])
    }
    outbox.append { request.completion(result) }
  }

  /// What the server answered, with what waits and is not in it over that.
  ///
  /// A write that it has answered is in it, and none other of the queue: writes are answered in the order
  /// of all requests.
  private func waitingLaid(over node: Node, of target: QueryTarget) -> Node {
    let now = serverTime
    let (machine, writes) = (link.machine, writes)
    let entries = read { (view, lane) throws(StoreError) in
      var overlay = QueueOverlay(view, lane, now: now, over: (target, node)) { id in
        let id = OutboundWriteID(lane, id)
        return machine?.isAnswered(id) == true || writes.outcome(of: id) != nil
      }
      return try overlay.entries(touching: target.path)
    }
    let single = SyncTree(cache: AnsweredData(node))
    // What is not queued: transactions.
    tree.copyWrites(touching: target.path, to: single) { $0.step > 0 }
    for entry in entries ?? [] { single.load(entry.id, entry.changes) }
    return shown(target, by: single) ?? node
  }

  /// What views show of a target, or would show; nil when that is not known completely.
  private func known(_ target: QueryTarget) -> Node? {
    if let node = tree.value(of: target) { return node }
    guard let backend, let lane else { return nil }
    // A tree for this one view, so that no listen of the app begins or ends.
    let single = SyncTree(cache: StoredCache(backend, lane.tree, setup.logger))
    tree.copyWrites(touching: target.path, to: single)
    let now = serverTime
    let entries = read { (view, lane) throws(StoreError) in
      var overlay = QueueOverlay(view, lane, now: now)
      return try overlay.entries(touching: target.path).filter { !hasEnded($0.id, lane) }
    }
    for entry in entries ?? [] { single.load(entry.id, entry.changes) }
    return shown(target, by: single)
  }

  private func shown(_ target: QueryTarget, by single: SyncTree) -> Node? {
    do throws(StoreError) {
      return try single.listen(silentID(), to: target, kinds: [.init(.value)]).events.last?.event
        .node
    } catch {
      return nil
    }
  }

  /// Puts what the server answered into the cache; a filtered query's answer is complete for that
  /// query alone.
  private func store(_ node: Node, of target: QueryTarget) {
    guard let lane, active[target] == nil, !tree.isListened(target.path) else {
      return openIncrements.forget(target.path)
    }
    // News that follow are newer, and must find this in the store.
    endsCommit = true
    let (path, parameters) = (target.path, target.spec.identifier)
    let stored = read { (view, lane) throws(StoreError) in
      try view.trackedQuery(lane.tree, path, parameters)
    }
    var query =
      (stored ?? nil)?.query ?? TrackedQuery(tree: lane.tree, path: path, parameters: parameters)
    guard !target.spec.isDefault else {
      query.isComplete = true
      query.isKnownMissing = node.isEmpty
      let edits =
        [.overwrite(lane.tree, path, node), .saveQuery(query)] + outdated(below: path)
        + outdated(above: path) + found(path)
      add(edits) { [self] result in
        if case .success(let numbers) = result { touch(numbers.queries.prefix(1), in: lane.tree) }
      }
      return
    }
    guard let known = stored, let known else {
      // Keys are stored under the query's number, which the first commit gives.
      add([.saveQuery(query)]) { [self] result in
        guard case .success(let numbers) = result, let id = numbers.queries.first else { return }
        store(node, of: StoredQuery(id: id, query: query))
      }
      return
    }
    store(node, of: known)
  }

  private func store(_ node: Node, of stored: StoredQuery) {
    var query = stored.query
    query.isComplete = true
    var edits = node.children.map {
      StorageEdit.overwrite(query.tree, query.path.appending($0.key), $0.node)
    }
    edits += outdated(above: query.path)
    edits.append(.saveQuery(query))
    edits.append(.setTrackedKeys(query.tree, stored.id, node.children.map(\.key)))
    endsCommit = true
    add(edits) { [self] result in
      if case .success = result { touch([stored.id], in: query.tree) }
    }
  }
}

/// What the server answered to a read, as the data of a view.
private final class AnsweredData: ServerCache {
  private let node: Node

  init(_ node: Node) { self.node = node }

  func cached(_ target: QueryTarget) -> CachedNode {
    CachedNode(node, isComplete: true, isFiltered: !target.spec.isDefault)
  }
}

extension DatabaseError {
  /// The server cannot be asked, and the cache does not hold it.
  fileprivate static func unreachable(_ target: QueryTarget) -> DatabaseError {
    DatabaseError(
      .disconnected, "There is no connection, and the cache does not hold all of \(target).")
  }

  /// The error for an answer that may have been made up here, as no server's came; nil for `ok`.
  init?(local response: Response, _ what: String) {
    switch response.status {
    case .disconnect:
      self.init(.outcomeUnknown, "\(what): the connection broke before the answer came.")
    case .writeCanceled: self.init(.writeCanceled, "\(what): the app purged what was waiting.")
    case .identityChanged:
      self.init(.writeCanceled, "\(what): another user was signed in before it was sent.")
    case .overriddenBySet:
      self.init(.overridden, "\(what): another write at the place ended it.")
    case .databaseClosed: self.init(.closed, "\(what): the database was closed before it was done.")
    case .maxRetries:
      self.init(.tooManyRetries, "\(what): the data changed each time it was tried.")
    default: self.init(response, what)
    }
  }
}

extension Response.Status {
  /// The app closed the database.
  static let databaseClosed = Response.Status(rawValue: "closed")
}
