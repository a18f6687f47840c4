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
  private let post: @Sendable (Step) -> Void

  init(
    _ setup: DatabaseConfiguration, _ storage: EngineStorage, _ views: Views, _ cache: CacheUpdater,
    _ listening: Listening, _ connection: Connection, _ outbox: Outbox,
    _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.setup = setup
    self.storage = storage
    self.views = views
    self.cache = cache
    self.listening = listening
    self.connection = connection
    self.outbox = outbox
    self.post = post
  }

  /// Answers with what is here, or asks the server, as the policy says.
  func begin(_ request: GetRequest) {
    let target = request.target
    if target.path.first == .info {
      return answer(request, .success(KnownNode(listening.info(target), .own)))
    }
    guard storage.backend != nil else { return answer(request, .failure(storage.error)) }
    if let known = known(request.policy.before, of: target) {
      return answer(request, .success(known))
    }
    if case .notAsked = request.policy.server {
      return answer(request, .failure(request.policy.unreachable(target)))
    }
    guard setup.transport != nil else { return giveUp(request) }
    guard !isLate(request) else {
      return answerWithoutServer(request, request.policy.late(target))
    }
    ask(request)
  }

  /// Asks the server what it made of an acknowledged write with server values, for the cache.
  func refresh(_ path: Path) {
    guard storage.backend != nil else { return }
    ask(
      GetRequest(
        target: QueryTarget(path), issued: setup.clock.now, policy: .server, completion: nil))
  }

  private func ask(_ request: GetRequest) {
    lastNumber += 1
    let id = OperationID(rawValue: lastNumber)
    asked[id] = request
    if let deadline = request.deadline {
      setup.clock.wake(at: deadline) { [post] in post(.endLateGet(id)) }
    }
    connection.tell(.get(id, request.target, patience: request.policy.patience))
  }

  /// The server answered.
  func answered(_ id: OperationID, _ response: Response) {
    guard let request = asked.removeValue(forKey: id) else { return }
    let target = request.target
    let error = DatabaseError(response, "Reading \(target) failed")
    if request.isCopy {
      let known = KnownNode(
        response.node, .answered(at: views.times.now, hasPendingWrites: false))
      return answer(request, error.map { .failure($0) } ?? .success(known))
    }
    if let error {
      cache.stopAwaiting(target.path)
      // The cached data may have been readable for another user only.
      guard response.status != .permissionDenied else { return answer(request, .failure(error)) }
      return answerWithoutServer(request, error)
    }
    let known = withWaitingWrites(response.node, of: target)
    cache.store(response.node, of: target.normalized)
    outbox.afterCommit { [self] in answer(request, .success(known)) }
  }

  /// The server cannot be asked.
  func unavailable(_ id: OperationID) {
    if let request = asked.removeValue(forKey: id) { giveUp(request) }
  }

  /// The time that a read gives the server is over: its answer is for the cache alone.
  func late(_ id: OperationID) {
    guard let request = asked[id] else { return }
    asked[id] = GetRequest(
      target: request.target, issued: request.issued, policy: .server, completion: nil)
    answerWithoutServer(request, request.policy.late(request.target))
  }

  /// The server is not asked, or no longer: what the policy allows is the answer.
  func giveUp(_ request: GetRequest) {
    if !request.isCopy { cache.stopAwaiting(request.target.path) }
    let (policy, target) = (request.policy, request.target)
    answerWithoutServer(
      request, isLate(request) ? policy.late(target) : policy.unreachable(target))
  }

  /// Whether the time that a read gives the server is over.
  private func isLate(_ request: GetRequest) -> Bool {
    request.deadline.map { $0 <= setup.clock.now } ?? false
  }

  /// The database is closed.
  func close(_ error: DatabaseError) {
    for (_, request) in asked.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      answer(request, .failure(error))
    }
    asked = [:]
  }

  private func answer(_ request: GetRequest, _ result: Result<KnownNode, DatabaseError>) {
    guard let completion = request.completion else { return }
    outbox.addCall { completion(result) }
  }

  /// Answers with what is here by now, if the policy allows that, else with the error.
  private func answerWithoutServer(_ request: GetRequest, _ error: DatabaseError) {
    let (policy, target) = (request.policy, request.target)
    guard request.completion != nil,
      let known = known(policy.before, of: target) ?? known(policy.after, of: target)
    else { return answer(request, .failure(error)) }
    setup.logger.info(
      "a read is answered from the cache", metadata: ["cause": "\(error.message)"])
    answer(request, .success(known))
  }

  // MARK: What is here

  /// What may answer instead of the server; nil where there is no such thing.
  private func known(_ local: ReadPolicy.Local, of target: QueryTarget) -> KnownNode? {
    switch local {
    case .nothing: return nil
    case .shown: return views.tree.shown(of: target)
    case .complete: return complete(target)
    case .recent(let age):
      guard let known = complete(target) else { return nil }
      if known.knowledge.isCurrent { return known }
      guard let time = known.knowledge.serverTime else { return nil }
      // A clock that was set back does not make it any newer.
      return (views.times.now &- time).magnitude <= age.magnitude ? known : nil
    }
  }

  /// The server's answer with the waiting writes over it.
  ///
  /// Writes that the server has answered are part of the answer already. Other queued writes are
  /// not, because the server answers requests in order.
  private func withWaitingWrites(_ node: Node, of target: QueryTarget) -> KnownNode {
    let entries = views.queuedWrites(over: (target, node), isAnswered: connection.isAnswerDeferred)
    let scratch = SyncTree(cache: AnsweredData(node))
    // Those of transactions.
    views.tree.copyWrites(touching: target.path, to: scratch) { !$0.isQueued }
    for entry in entries { scratch.load(entry.position, entry.changes) }
    let shown = shown(of: target, in: scratch)
    return KnownNode(
      shown?.node ?? node,
      .answered(
        at: views.times.now, hasPendingWrites: shown?.knowledge.hasPendingWrites ?? false))
  }

  /// What views show of a target, or would show; nil when that is not known completely.
  private func complete(_ target: QueryTarget) -> KnownNode? {
    if let known = views.tree.known(of: target) { return known }
    guard storage.backend != nil, let cache = views.cache else { return nil }
    // A tree for this one view, so that no listen of the app begins or ends.
    let scratch = SyncTree(cache: cache)
    views.tree.copyWrites(touching: target.path, to: scratch)
    for entry in views.queuedWrites(touching: target.path) {
      scratch.load(entry.position, entry.changes)
    }
    return shown(of: target, in: scratch)
  }

  /// What a view of a target would show in a tree that is made for it alone.
  private func shown(of target: QueryTarget, in scratch: SyncTree) -> KnownNode? {
    do throws(StoreError) {
      // Nobody else listens in that tree, and nobody is told: the event holds what is shown.
      let result = try scratch.listen(.app(0), to: target, kinds: [.init(.value)])
      return result.events.last.map { KnownNode($0.event.node, $0.event.knowledge) }
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

/// A read of the server's data.
struct GetRequest: Sendable {
  let target: QueryTarget
  /// The uptime at which the app asked.
  let issued: Milliseconds
  /// What may answer.
  let policy: ReadPolicy
  /// Whether it is asked what the server has, as it is there, and nothing of that is kept; otherwise the app's waiting
  /// writes are laid over it, and it is kept in the cache.
  var isCopy = false
  /// Told the answer; nil where it is wanted for the cache alone.
  let completion: (@Sendable (Result<KnownNode, DatabaseError>) -> Void)?

  /// The uptime at which the server's time is over; nil when it may take any.
  var deadline: Milliseconds? { policy.patience.map { issued + $0 } }
}

// MARK: - What the app asks for

extension Engine {
  /// Reads once.
  func get(
    _ target: QueryTarget, _ policy: ReadPolicy = .default,
    completion: @escaping @Sendable (Result<KnownNode, DatabaseError>) -> Void
  ) {
    steps.post(
      .get(
        GetRequest(
          target: target, issued: setup.clock.now, policy: policy, completion: completion)))
  }

  /// Reads once what the server has, without waiting writes, and keeps nothing of it.
  func getFromServer(
    _ target: QueryTarget, completion: @escaping @Sendable (Result<Node, DatabaseError>) -> Void
  ) {
    let request = GetRequest(
      target: target, issued: setup.clock.now, policy: .server, isCopy: true
    ) { result in completion(result.map(\.node)) }
    steps.post(.get(request))
  }
}
