import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// Reads of the server's data: from the views, the server or the cache.
final class Gets {
  /// The reads that the server was asked for and has not answered.
  private var asked: [OperationID: GetRequest] = [:]
  /// The number of the last one.
  private var lastNumber: UInt64 = 0
  private let setup: DatabaseConfiguration
  private let storage: EngineStorage
  private let views: Views
  private let cache: CacheUpdater
  private let listening: Listening
  private let connection: Connection
  private let outbox: Outbox

  init(
    _ setup: DatabaseConfiguration, _ storage: EngineStorage, _ views: Views, _ cache: CacheUpdater,
    _ listening: Listening, _ connection: Connection, _ outbox: Outbox
  ) {
    self.setup = setup
    self.storage = storage
    self.views = views
    self.cache = cache
    self.listening = listening
    self.connection = connection
    self.outbox = outbox
  }

  /// Asks the server for data once, unless a view shows it.
  func begin(_ request: GetRequest) {
    let target = request.target
    if target.path.first == .info { return answer(request, .success(listening.info(target))) }
    guard storage.backend != nil else { return answer(request, .failure(storage.error)) }
    if request.source == .any, let node = views.tree.shown(of: target) {
      return answer(request, .success(node))
    }
    guard setup.transport != nil else { return giveUp(request) }
    ask(request)
  }

  /// Asks the server what it made of an acknowledged write with server values, for the cache.
  func refresh(_ path: Path) {
    guard storage.backend != nil else { return }
    ask(GetRequest(target: QueryTarget(path), issued: setup.clock.now) { _ in })
  }

  private func ask(_ request: GetRequest) {
    lastNumber += 1
    let id = OperationID(rawValue: lastNumber)
    asked[id] = request
    connection.tell(.get(id, request.target))
  }

  /// The server answered.
  func answered(_ id: OperationID, _ response: Response) {
    guard let request = asked.removeValue(forKey: id) else { return }
    let target = request.target
    guard request.source == .any else {
      let error = DatabaseError(response, "Reading \(target) failed")
      return answer(request, error.map { .failure($0) } ?? .success(response.node))
    }
    if let error = DatabaseError(response, "Reading \(target) failed") {
      cache.stopAwaiting(target.path)
      // The cached data may have been readable for another user only.
      guard response.status != .permissionDenied else { return answer(request, .failure(error)) }
      return answerFromCache(request, error)
    }
    let node = withWaitingWrites(response.node, of: target)
    cache.store(response.node, of: target.normalized)
    outbox.afterCommit { [self] in answer(request, .success(node)) }
  }

  /// The server cannot be asked.
  func unavailable(_ id: OperationID) {
    if let request = asked.removeValue(forKey: id) { giveUp(request) }
  }

  /// The server is not asked, or no longer: what is known completely is the answer.
  func giveUp(_ request: GetRequest) {
    let error = DatabaseError.unreachable(request.target)
    guard request.source == .any else { return answer(request, .failure(error)) }
    cache.stopAwaiting(request.target.path)
    answerFromCache(request, error)
  }

  /// The database is closed.
  func close(_ error: DatabaseError) {
    for (_, request) in asked.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      answer(request, .failure(error))
    }
    asked = [:]
  }

  private func answer(_ request: GetRequest, _ result: Result<Node, DatabaseError>) {
    outbox.addCall { request.completion(result) }
  }

  /// Answers with what is known completely, else with the error.
  private func answerFromCache(_ request: GetRequest, _ error: DatabaseError) {
    guard let node = completeValue(of: request.target) else {
      return answer(request, .failure(error))
    }
    setup.logger.info(
      "a read is answered from the cache", metadata: ["cause": "\(error.message)"])
    answer(request, .success(node))
  }

  /// The server's answer with the waiting writes over it.
  ///
  /// Writes that the server has answered are part of the answer already. Other queued writes are
  /// not, because the server answers requests in order.
  private func withWaitingWrites(_ node: Node, of target: QueryTarget) -> Node {
    let entries = views.queuedWrites(over: (target, node), isAnswered: connection.isAnswerDeferred)
    let scratch = SyncTree(cache: AnsweredData(node))
    // Those of transactions.
    views.tree.copyWrites(touching: target.path, to: scratch) { !$0.isQueued }
    for entry in entries { scratch.load(entry.position, entry.changes) }
    return value(of: target, in: scratch) ?? node
  }

  /// What views show of a target, or would show; nil when that is not known completely.
  private func completeValue(of target: QueryTarget) -> Node? {
    if let node = views.tree.value(of: target) { return node }
    guard storage.backend != nil, let cache = views.cache else { return nil }
    // A tree for this one view, so that no listen of the app begins or ends.
    let scratch = SyncTree(cache: cache)
    views.tree.copyWrites(touching: target.path, to: scratch)
    for entry in views.queuedWrites(touching: target.path) {
      scratch.load(entry.position, entry.changes)
    }
    return value(of: target, in: scratch)
  }

  /// What a view of a target would show in a tree that is made for it alone.
  private func value(of target: QueryTarget, in scratch: SyncTree) -> Node? {
    do throws(StoreError) {
      // Nobody else listens in that tree, and nobody is told: the event holds what is shown.
      let result = try scratch.listen(.app(0), to: target, kinds: [.init(.value)])
      return result.events.last?.event.node
    } catch {
      return nil
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
}

/// A read of the server's data.
struct GetRequest: Sendable {
  /// Where the answer comes from.
  enum Source: Sendable {
    /// A view that shows it, the server, or the cache while that cannot be asked; with the app's waiting writes over
    /// it, and kept in the cache.
    case any
    /// The server, as it is there; nothing of it is kept.
    case server
  }

  let target: QueryTarget
  /// The uptime at which the app asked.
  let issued: Milliseconds
  var source = Source.any
  let completion: @Sendable (Result<Node, DatabaseError>) -> Void
}

// MARK: - What the app asks for

extension Engine {
  /// Reads once.
  func get(
    _ target: QueryTarget, completion: @escaping @Sendable (Result<Node, DatabaseError>) -> Void
  ) {
    steps.post(.get(GetRequest(target: target, issued: setup.clock.now, completion: completion)))
  }

  /// Reads once what the server has, without waiting writes, and keeps nothing of it.
  func getFromServer(
    _ target: QueryTarget, completion: @escaping @Sendable (Result<Node, DatabaseError>) -> Void
  ) {
    let request = GetRequest(
      target: target, issued: setup.clock.now, source: .server, completion: completion)
    steps.post(.get(request))
  }
}
