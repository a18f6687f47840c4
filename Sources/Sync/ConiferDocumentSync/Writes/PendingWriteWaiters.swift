/// The callers that wait until all writes that are pending now have ended.
package struct PendingWriteWaiters: Sendable {
  /// Who waits; the caller numbers them.
  package typealias Waiter = UInt64

  private struct Waiting {
    let waiter: Waiter
    let last: BatchID
    /// Batches that had been refused when it began to wait, and were queued again since.
    var leftOut: Set<BatchID> = []
  }

  private var waiters: [Waiting] = []

  /// Nobody waits.
  package init() {}

  /// Somebody begins to wait.
  ///
  /// - Parameter last: the newest batch that has not ended; nil when there is none.
  /// - Returns: whether there is nothing to wait for.
  package mutating func wait(_ waiter: Waiter, until last: BatchID?) -> Bool {
    guard let last else { return true }
    waiters.append(Waiting(waiter: waiter, last: last))
    return false
  }

  /// A batch that was refused is queued again: nobody waits for it who waits already.
  package mutating func requeued(_ batch: BatchID) {
    for place in waiters.indices { waiters[place].leftOut.insert(batch) }
  }

  /// Whether a batch counts for everybody who waits: for nobody it was queued again meanwhile.
  package func isAwaited(_ batch: BatchID) -> Bool {
    !waiters.contains { $0.leftOut.contains(batch) }
  }

  /// A batch was accepted or refused.
  ///
  /// - Parameter left: the batches that have not ended, ascending, up to the first that `isAwaited`.
  /// - Returns: who waits for none any more.
  package mutating func ended(left: [BatchID]) -> [Waiter] {
    let done = waiters.filter { waiting in
      let oldest = left.first { !waiting.leftOut.contains($0) }
      return oldest.map { $0 > waiting.last } ?? true
    }
    waiters.removeAll { waiting in done.contains { $0.waiter == waiting.waiter } }
    return done.map(\.waiter)
  }

  /// Another user is signed in, whose writes are others.
  ///
  /// - Returns: who has waited, all of whom fail with `cancelled`.
  package mutating func userChanged() -> [Waiter] {
    defer { waiters = [] }
    return waiters.map(\.waiter)
  }
}
