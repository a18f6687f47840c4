/// The callers that wait until all writes that are pending now have ended.
package struct PendingWriteWaiters: Sendable {
  /// Who waits; the caller numbers them.
  package typealias Waiter = UInt64

  private var waiters: [(waiter: Waiter, last: BatchID)] = []

  /// Nobody waits.
  package init() {}

  /// Somebody begins to wait.
  ///
  /// - Parameter last: the newest batch that has not ended; nil when there is none.
  /// - Returns: whether there is nothing to wait for.
  package mutating func wait(_ waiter: Waiter, until last: BatchID?) -> Bool {
    guard let last else { return true }
    waiters.append((waiter, last))
    return false
  }

  /// A batch was accepted or refused, and so was every earlier one.
  ///
  /// - Returns: who has waited for it.
  package mutating func ended(_ batch: BatchID) -> [Waiter] {
    let done = waiters.filter { $0.last <= batch }.map(\.waiter)
    waiters.removeAll { $0.last <= batch }
    return done
  }

  /// Another user is signed in, whose writes are others.
  ///
  /// - Returns: who has waited, all of whom fail with `cancelled`.
  package mutating func userChanged() -> [Waiter] {
    defer { waiters = [] }
    return waiters.map(\.waiter)
  }
}
