import ConiferTree

extension TransactionMachine {
  mutating func start(
    _ id: TransactionID, _ path: Path, _ isVisible: Bool, _ position: LanePosition
  ) {
    guard live[id] == nil else { return }
    lastOrder += 1
    live.join(
      Transaction(id: id, order: lastOrder, path: path, isVisible: isVisible, position: position))
    wait(id)
    actions.append(.listen(id, path))
    // Listening may load the data that the function is to see.
    mustProceed = true
  }

  /// Lets a transaction's function run, in its turn.
  private mutating func wait(_ id: TransactionID) {
    guard let transaction = live[id] else { return }
    live.set(.waiting, id)
    runs.insert((order: transaction.order, id: id))
    if transaction.attempts >= Self.maxAttempts { exhausted.append(id) }
  }

  /// Lets the transactions that read the data at a path run again, in order.
  ///
  /// - Parameter order: only those that were begun after the transaction with this order.
  mutating func rerun(_ path: Path, after order: UInt64? = nil) {
    let root = live.tree.root(of: path)
    var roots = [root]
    if live.families[root] == nil { roots = live.tree.roots(below: root) }
    for root in roots where live.families[root]?.readyCount ?? 0 > 0 {
      for transaction in live.findMembers(of: root, after: order) where transaction.isReady {
        wait(transaction.id)
      }
    }
  }

  mutating func ran(
    _ id: TransactionID, _ decision: Decision, _ writePosition: LanePosition, _ serverTime: Int64,
    _ readView: ReadView
  ) {
    guard running == id else { return }
    running = nil
    guard let transaction = live[id], case .running(let seen) = transaction.phase else {
      return
    }
    // The function must see what changed meanwhile, and the results of earlier transactions that
    // run again.
    guard findEarlierRuns(transaction).isEmpty,
      readView(transaction.path, live.findVisibleWrites(for: transaction)) == seen
    else {
      return wait(id)
    }
    switch decision {
    case .abort: finish(id, TransactionOutcome(isCommitted: false, node: seen))
    case .write(let output):
      let resolved = output.resolvingServerValues(over: seen, now: serverTime)
      live.change(id) { ($0.input, $0.output, $0.resolved) = (seen, output, resolved) }
      live.set(writePosition, of: transaction)
      live.set(.ready, id)
      readyPaths.insert(transaction.path)
      let isVisible = transaction.isVisible
      actions.append(.write(writePosition, transaction.path, resolved, isVisible: isVisible))
      // Only now, so that views never show what was there before.
      if let old = transaction.writePosition { actions.append(.revert(old)) }
      mustProceed = true
    }
  }

  /// Ends a transaction that is not committed: its write is reverted, and later ones that read it run
  /// again.
  mutating func finish(_ id: TransactionID, _ outcome: TransactionOutcome) {
    guard let transaction = live.remove(id) else { return }
    if let position = transaction.writePosition { actions.append(.revert(position)) }
    actions.append(.complete(id, outcome))
    actions.append(.unlisten(id, transaction.path))
    mustProceed = true
    rerun(transaction.path, after: transaction.order)
    readyPaths.insert(transaction.path)
  }

  /// Ends a transaction with an error.
  mutating func fail(_ id: TransactionID, _ failure: TransactionFailure) {
    guard let transaction = live[id] else { return }
    var node = transaction.input
    if case .running(let seen) = transaction.phase { node = seen }
    finish(id, TransactionOutcome(error: failure, isCommitted: false, node: node))
  }

  /// Runs the next function whose input has changed.
  mutating func runNext(_ readView: ReadView) {
    if running == nil { failExhausted() }
    while !mustProceed, running == nil, let (_, id) = findNextRun() {
      runs.removeFirst()
      guard let transaction = live[id] else { continue }
      let input = readView(transaction.path, live.findVisibleWrites(for: transaction))
      if transaction.output != nil, input == transaction.input,
        live.findTopWrite(of: transaction) != nil
      {
        live.set(.ready, id)
        readyPaths.insert(transaction.path)
        continue
      }
      live.set(.running(input), id)
      running = id
      actions.append(.run(id, transaction.path, input))
    }
  }

  /// Ends all transactions that were sent too often.
  private mutating func failExhausted() {
    // Ending one transaction may let others run that were sent too often as well.
    while !exhausted.isEmpty {
      let ids = exhausted.filter { live[$0]?.isWaiting == true }
      exhausted = []
      for id in ids { fail(id, .local(.maxRetries)) }
    }
  }

  /// Finds the transactions that are to run before one: those of its family that wait and were begun earlier.
  private mutating func findEarlierRuns(_ transaction: Transaction) -> [Transaction] {
    guard let first = findNextRun(), first.order < transaction.order else { return [] }
    return live.findMembers(before: transaction).filter(\.isWaiting)
  }

  /// Finds the first transaction that waits for its turn, and drops those before it that do not wait any longer.
  private mutating func findNextRun() -> RunQueue.Entry? {
    while let first = runs.first {
      if live[first.id]?.isWaiting == true { return first }
      runs.removeFirst()
    }
    return nil
  }
}
