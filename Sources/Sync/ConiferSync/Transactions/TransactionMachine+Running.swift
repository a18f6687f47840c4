import ConiferTree
import ConiferWire

extension TransactionMachine {
  mutating func start(
    _ id: TransactionID, _ path: Path, _ isVisible: Bool, _ place: OverlayID
  ) {
    guard transactions[id] == nil else { return }
    lastOrder += 1
    join(Transaction(id: id, order: lastOrder, path: path, isVisible: isVisible, place: place))
    wait(id)
    actions.append(.listen(id, path))
    // Listening may load what the function is to see.
    mustProceed = true
  }

  /// Lets a transaction's function run, in its turn.
  private mutating func wait(_ id: TransactionID) {
    guard let transaction = transactions[id] else { return }
    set(.waiting, id)
    runs.insert((order: transaction.order, id: id))
    if transaction.attempts >= Self.maxAttempts { exhausted.append(id) }
  }

  /// Lets all that builds on the data at a path run again, in order.
  ///
  /// - Parameter order: that of the transaction alone on whose write it was built.
  mutating func rerun(_ path: Path, after order: UInt64? = nil) {
    let root = tree.root(of: path)
    var roots = [root]
    if families[root] == nil { roots = tree.roots(below: root) }
    for root in roots where families[root]?.ready ?? 0 > 0 {
      for member in families[root]?.members(after: order) ?? []
      where transactions[member.id]?.isReady == true { wait(member.id) }
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
    guard isInTurn(transaction), state(transaction.path, visibleWrites(for: transaction)) == seen
    else {
      return wait(id)
    }
    switch decision {
    case .abort: finish(id, Outcome(isCommitted: false, node: seen))
    case .write(let output):
      let resolved = output.resolvingServerValues(over: seen, now: serverTime)
      transactions[id]?.input = seen
      transactions[id]?.output = output
      transactions[id]?.resolved = resolved
      set(overlay, of: transaction)
      set(.ready, id)
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
    rerun(transaction.path, after: transaction.order)
    ready.insert(transaction.path)
  }

  /// Ends a transaction with an error.
  mutating func fail(_ id: TransactionID, _ response: Response) {
    guard let transaction = transactions[id] else { return }
    var node = transaction.input
    if case .running(let seen) = transaction.phase { node = seen }
    finish(id, Outcome(error: response, isCommitted: false, node: node))
  }

  /// Runs the next function whose input is another one than before.
  mutating func runNext(_ state: State) {
    if running == nil { failExhausted() }
    while !mustProceed, running == nil, let (_, id) = nextRun() {
      runs.removeFirst()
      guard let transaction = transactions[id] else { continue }
      let input = state(transaction.path, visibleWrites(for: transaction))
      if transaction.output != nil, input == transaction.input, isOnTop(transaction) {
        set(.ready, id)
        ready.insert(transaction.path)
        continue
      }
      set(.running(input), id)
      running = id
      actions.append(.run(id, transaction.path, input))
    }
  }

  /// Ends all that were sent too often, at once: after each end the owner proceeds.
  private mutating func failExhausted() {
    let reason = "The data changed at each of \(TransactionMachine.maxAttempts) attempts."
    // An end may let others run again that were sent too often as well.
    while !exhausted.isEmpty {
      let ids = exhausted.filter { transactions[$0]?.isWaiting == true }
      exhausted = []
      for id in ids { fail(id, Response(.maxRetries, reason: reason)) }
    }
  }
}
