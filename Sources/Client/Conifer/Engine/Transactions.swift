import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire

/// The transactions of the app that have not ended.
final class Transactions {
  private(set) var machine = TransactionMachine()
  private var requests: [TransactionID: TransactionRequest] = [:]
  /// The silent listeners of their paths; one serves all at a path, however many they are.
  private var listeners: [Path: (id: ListenerID, count: Int)] = [:]
  /// The number of the last one.
  private var lastNumber: UInt64 = 0
  private let storage: EngineStorage
  private let views: Views
  private let listening: Listening
  private let connection: Connection
  private let clock: ServerClock
  private let outbox: Outbox
  private let post: @Sendable (Step) -> Void

  init(
    _ storage: EngineStorage, _ views: Views, _ listening: Listening, _ connection: Connection,
    _ clock: ServerClock, _ outbox: Outbox, _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.storage = storage
    self.views = views
    self.listening = listening
    self.connection = connection
    self.clock = clock
    self.outbox = outbox
    self.post = post
  }

  /// Whether all have ended.
  var isEmpty: Bool { machine.isEmpty }

  /// Begins one.
  func begin(_ request: TransactionRequest) {
    guard let position = connection.takePosition() else {
      let error = storage.error
      return outbox.addCall {
        request.completion(error, false, KnownNode(.empty, ViewKnowledge()))
      }
    }
    lastNumber += 1
    let id = TransactionID(rawValue: lastNumber)
    requests[id] = request
    handle(.start(id, request.path, isVisible: request.raisesLocalEvents, position: position))
  }

  /// The app's function has returned.
  func ran(_ id: TransactionID, _ decision: TransactionMachine.Decision) {
    guard let position = connection.takePosition() else { return }
    handle(.ran(id, decision, writePosition: position, serverTime: clock.serverTime))
  }

  /// Operations can be sent, or no longer.
  func writable(_ isWritable: Bool) { handle(.writable(isWritable)) }

  /// The server answered an attempt.
  func putAnswered(_ id: OperationID, _ response: Response, isDataMissing: Bool) {
    handle(.putAnswered(id, response, isDataMissing: isDataMissing))
  }

  /// An attempt ended without an answer.
  func putGivenUp(_ id: OperationID, _ status: LocalStatus) { handle(.putGivenUp(id, status)) }

  /// An attempt was not sent, or was refused for want of a valid token, and may be made again.
  func putReturned(_ id: OperationID) { handle(.putReturned(id)) }

  /// The app replaced nodes: transactions on them end.
  func overwritten(_ content: WriteContent) {
    if !isEmpty { handle(.overwritten(content.changes.map(\.path.owner))) }
  }

  /// Views may show something else at some paths: transactions on these run again.
  func dataChanged(_ paths: [Path]) {
    for path in paths where !isEmpty { handle(.changed(path)) }
  }

  /// All end.
  func giveUp(_ status: LocalStatus) {
    if !isEmpty { handle(.giveUp(status)) }
  }

  private func handle(_ input: TransactionInput) {
    let tree = views.tree
    let actions = machine.handle(input) { path, filter in tree.value(at: path, filter) ?? .empty }
    for action in actions { carryOut(action) }
  }

  private func carryOut(_ action: TransactionAction) {
    switch action {
    case .listen(_, let path): listen(path)
    case .unlisten(_, let path): unlisten(path)
    case .run(let id, _, let node):
      guard let update = requests[id]?.update else { return }
      outbox.addCall { [post] in post(.transactionRan(id, update(node))) }
    case .write(let position, let path, let node, let isVisible):
      views.raise(views.tree.write(position, [NodeChange(path, node)], isVisible: isVisible))
    case .revert(let position): views.raise(views.tree.revert(position))
    case .acknowledge(let position, let isDataMissing):
      views.raise(views.tree.acknowledge(position, isDataMissing: isDataMissing))
    case .put(let put): connection.tell(.put(put))
    case .complete(let id, let outcome):
      guard let request = requests.removeValue(forKey: id) else { return }
      let what = "The transaction at \(request.path) failed"
      let error: DatabaseError? =
        switch outcome.error {
        case .refused(let response): DatabaseError(response, what)
        case .local(let status): DatabaseError(local: status, what)
        case nil: nil
        }
      // Its silent listener has not ended yet.
      var knowledge = views.tree.knowledge(of: QueryTarget(request.path))
      if outcome.isCommitted {
        knowledge = .answered(
          at: clock.serverTime, hasPendingWrites: knowledge.hasPendingWrites)
      }
      let known = KnownNode(outcome.node, knowledge)
      outbox.addCall { request.completion(error, outcome.isCommitted, known) }
    case .proceed: handle(.proceed)
    }
  }

  private func listen(_ path: Path) {
    let known = listeners[path]
    let count = (known?.count ?? 0) + 1
    // The server may have ended the one there was.
    if let known, listening.contains(known.id) {
      listeners[path] = (known.id, count)
      return
    }
    let id = listening.takeSilentID()
    listeners[path] = (id, count)
    listening.listen(id, QueryTarget(path), [])
  }

  private func unlisten(_ path: Path) {
    guard let listener = listeners[path] else { return }
    listeners[path]?.count -= 1
    guard listener.count == 1 else { return }
    listeners[path] = nil
    listening.stop(listener.id)
  }
}

/// A transaction as the API asks for it.
struct TransactionRequest: Sendable {
  let path: Path
  let raisesLocalEvents: Bool
  let update: @Sendable (Node) -> TransactionMachine.Decision
  let completion: @Sendable (DatabaseError?, Bool, KnownNode) -> Void
}

// MARK: - What the app asks for

extension Engine {
  /// Runs a transaction.
  func transact(
    at path: Path, raisesLocalEvents: Bool,
    update: @escaping @Sendable (Node) -> TransactionMachine.Decision,
    completion: @escaping @Sendable (DatabaseError?, Bool, KnownNode) -> Void
  ) {
    steps.post(
      .transact(
        TransactionRequest(
          path: path, raisesLocalEvents: raisesLocalEvents, update: update, completion: completion))
    )
  }
}
