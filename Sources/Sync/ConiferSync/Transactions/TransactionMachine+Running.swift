import ConiferTree
import ConiferWire

extension TransactionMachine {
  mutating func start(
    _ id: TransactionID, _ path: Path, _ isVisible: Bool, _ place: OverlayID
  ) {
    guard transactions[id] == nil else { return }
    lastOrder += 1
    transactions[id] = Transaction(
      id: id, order: lastOrder, path: path, isVisible: isVisible, place: place)
    tree.insert(id, at: path)
    wait(id)
    actions.append(.listen(id, path))
    // Listening may load what the function is to see.
    mustProceed = true
  }

  /// Lets a transaction's function run, in its turn.
  private mutating func wait(_ id: TransactionID) {
    guard let order = transactions[id]?.order else { return }
    transactions[id]?.phase = .waiting
    runs.insert((order: order, id: id)) { $0.order > order }
  }

  /// Lets all that builds on the data at a path run again, in order.
  mutating func rerun(_ path: Path) {
    for id in tree.within(tree.root(of: path)) {
      if case .ready = transactions[id]?.phase { wait(id) }
    }
  }

  /// The node over which a function runs: with what earlier transactions wrote, and with what is
  /// under way, but without what is to run again later.
  private func input(of transaction: Transaction, _ state: State) -> Node {
    var excluded: Set<OverlayID> = []
    for id in tree.within(tree.root(of: transaction.path)) {
      guard let other = transactions[id], let overlay = other.overlay else { continue }
      if case .sent = other.phase { continue }
      if other.order >= transaction.order { excluded.insert(overlay) }
    }
    return state(transaction.path, excluded)
  }

  /// Whether no earlier transaction is to run before one.
  private func isInTurn(_ transaction: Transaction) -> Bool {
    tree.within(tree.root(of: transaction.path)).allSatisfy { id in
      guard let other = transactions[id], case .waiting = other.phase else { return true }
      return other.order >= transaction.order
    }
  }

  /// Whether a transaction's write lies over all that earlier ones wrote.
  private func isOnTop(_ transaction: Transaction) -> Bool {
    guard let overlay = transaction.overlay else { return false }
    return tree.within(tree.root(of: transaction.path)).allSatisfy { id in
      guard let other = transactions[id], other.order < transaction.order else { return true }
      return other.overlay.map { $0 < overlay } ?? true
    }
  }

  mutating func ran(
    _ id: TransactionID, _ decision: Decision, _ overlay: OverlayID, _ serverTime: Int64,
    _ state: State
  ) {
    guard running == id else { return }
    running = nil
    guard let transaction = transactions[id], case .running(let seen) = transaction.phase else {
      return
    }
    // What changed meanwhile, or what an earlier one is to write anew, it has to see.
    guard isInTurn(transaction), input(of: transaction, state) == seen else { return wait(id) }
    switch decision {
    case .abort: finish(id, Outcome(isCommitted: false, node: seen))
    case .invalid(let response):
      finish(id, Outcome(error: response, isCommitted: false, node: seen))
    case .write(let output):
      let resolved = output.resolvingServerValues(over: seen, now: serverTime)
      transactions[id]?.phase = .ready
      transactions[id]?.input = seen
      transactions[id]?.output = output
      transactions[id]?.resolved = resolved
      transactions[id]?.overlay = overlay
      ready.insert(transaction.path)
      let isVisible = transaction.isVisible
      actions.append(.write(overlay, transaction.path, resolved, isVisible: isVisible))
      // Only now, so that views never show what was there before.
      if let old = transaction.overlay { actions.append(.revert(old)) }
      mustProceed = true
    }
  }

  /// Ends a transaction that is not committed: its write goes, and what was built on it runs again.
  mutating func finish(_ id: TransactionID, _ outcome: Outcome) {
    guard let transaction = remove(id) else { return }
    if let overlay = transaction.overlay { actions.append(.revert(overlay)) }
    actions.append(.complete(id, outcome))
    actions.append(.unlisten(id, transaction.path))
    mustProceed = true
    rerun(transaction.path)
    ready.insert(transaction.path)
  }

  /// Ends a transaction with an error.
  mutating func fail(_ id: TransactionID, _ response: Response) {
    guard let transaction = transactions[id] else { return }
    var node = transaction.input
    if case .running(let seen) = transaction.phase { node = seen }
    finish(id, Outcome(error: response, isCommitted: false, node: node))
  }

  /// Forgets a transaction.
  mutating func remove(_ id: TransactionID) -> Transaction? {
    guard let transaction = transactions.removeValue(forKey: id) else { return nil }
    tree.remove(id, at: transaction.path)
    if case .waiting = transaction.phase { runs.removeAll { $0.id == id } }
    return transaction
  }

  /// Runs the next function whose input is another one than before.
  mutating func runNext(_ state: State) {
    if running == nil { failExhausted() }
    while !mustProceed, running == nil, let (_, id) = runs.first {
      guard let transaction = transactions[id] else {
        runs.removeFirst()
        continue
      }
      runs.removeFirst()
      let input = input(of: transaction, state)
      if transaction.output != nil, input == transaction.input, isOnTop(transaction) {
        transactions[id]?.phase = .ready
        ready.insert(transaction.path)
        continue
      }
      transactions[id]?.phase = .running(input)
      running = id
      actions.append(.run(id, transaction.path, input))
    }
  }
  /// Ends all that were sent too often, at once: after each end the owner proceeds.
  private mutating func failExhausted() {
    let reason = "The data changed at each of \(TransactionMachine.maxAttempts) attempts."
    // An end may let others run again that were sent too often as well.
    while true {
      let exhausted = runs.all.map(\.id).filter { id in
        transactions[id].map { $0.attempts >= TransactionMachine.maxAttempts } ?? false
      }
      if exhausted.isEmpty { return }
      for id in exhausted { fail(id, Response(.maxRetries, reason: reason)) }
    }
  }
}
