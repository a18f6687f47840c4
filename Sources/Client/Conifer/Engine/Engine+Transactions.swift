import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire

/// The transactions of the app that live.
struct Transactions {
  var machine = TransactionMachine()
  var requests: [TransactionID: TransactionRequest] = [:]
  /// The silent listeners of their paths; one serves all at a path, however many they are.
  var listeners: [Path: (id: ListenerID, count: Int)] = [:]
  var last: UInt64 = 0
}

extension Engine {
  /// Begins a transaction.
  func begin(_ request: TransactionRequest) {
    guard let place = link.machine?.nextPlace() else {
      let error = phaseError
      outbox.append { request.completion(error, false, .empty) }
      return
    }
    transactions.last += 1
    let id = TransactionID(rawValue: transactions.last)
    transactions.requests[id] = request
    handle(.start(id, request.path, isVisible: request.raisesLocalEvents, place: place))
  }

  /// A transaction's function has returned.
  func ran(_ id: TransactionID, _ decision: TransactionMachine.Decision) {
    guard let place = link.machine?.nextPlace() else { return }
    handle(.ran(id, decision, overlay: place, serverTime: serverTime))
  }

  func writable(_ isWritable: Bool) { handle(.writable(isWritable)) }

  func putAnswered(_ id: OperationID, _ response: Response, _ isEarly: Bool) {
    handle(.putAnswered(id, response, isEarly: isEarly))
  }

  func putReturned(_ id: OperationID) { handle(.putReturned(id)) }

  /// The app replaced nodes: transactions on them end.
  func overwritten(_ content: WriteContent) {
    guard !transactions.machine.isEmpty else { return }
    handle(.overwritten(content.changes.map(\.path.owner)))
  }

  /// Views may show something else at some paths: transactions on it run again.
  func dataChanged(_ paths: [Path]) {
    for path in paths where !transactions.machine.isEmpty { handle(.changed(path)) }
  }

  /// All transactions end.
  func giveUpTransactions(_ status: Response.Status) {
    if !transactions.machine.isEmpty { handle(.giveUp(status)) }
  }

  private func handle(_ input: TransactionMachine.Input) {
    let tree = tree
    let actions = transactions.machine.handle(input) { path, filter in
      tree.value(at: path, filter) ?? .empty
    }
    for action in actions { act(action) }
  }

  private func act(_ action: TransactionMachine.Action) {
    switch action {
    case .listen(_, let path): listenForTransaction(path)
    case .unlisten(_, let path): unlistenForTransaction(path)
    case .run(let id, _, let node):
      guard let update = transactions.requests[id]?.update else { return }
      outbox.append { [weak self] in
        let step = update(node)
        self?.post(.ran(id, step))
      }
    case .write(let overlay, let path, let node, let isVisible):
      raise(tree.write(overlay, [NodeChange(path, node)], isVisible: isVisible))
    case .revert(let overlay): raise(tree.revert(overlay))
    case .acknowledge(let overlay, let isEarly):
      raise(tree.acknowledge(overlay, isEarly: isEarly))
    case .put(let put): tell(.put(put))
    case .complete(let id, let outcome):
      guard let request = transactions.requests.removeValue(forKey: id) else { return }
      let error = outcome.error.flatMap {
        DatabaseError(local: $0, "The transaction at \(request.path) failed")
      }
      outbox.append { request.completion(error, outcome.isCommitted, outcome.node) }
    case .proceed: handle(.proceed)
    }
  }

  private func listenForTransaction(_ path: Path) {
    let known = transactions.listeners[path]
    let count = (known?.count ?? 0) + 1
    // The server may have ended the one there was.
    if let known, listeners[known.id] != nil {
      transactions.listeners[path] = (known.id, count)
      return
    }
    let id = silentID()
    transactions.listeners[path] = (id, count)
    listen(id, QueryTarget(path), [], isSilent: true)
  }

  private func unlistenForTransaction(_ path: Path) {
    guard let listener = transactions.listeners[path] else { return }
    transactions.listeners[path]?.count -= 1
    guard listener.count == 1 else { return }
    transactions.listeners[path] = nil
    stop(listener.id)
  }
}
