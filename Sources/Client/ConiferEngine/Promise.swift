import Synchronization

/// A value that comes once and that any number of tasks wait for.
package final class Promise<Value: Sendable>: Sendable {
  private typealias Waiter = CheckedContinuation<Result<Value, DatabaseError>, Never>

  private struct State {
    var result: Result<Value, DatabaseError>?
    var waiters: [UInt64: Waiter] = [:]
    var lastWaiter: UInt64 = 0
    /// Waiters whose tasks were cancelled before they began to wait.
    var cancelled: Set<UInt64> = []
  }

  private let state = Mutex(State())

  package init() {}

  /// The result, if it has come.
  package var result: Result<Value, DatabaseError>? { state.withLock { $0.result } }

  /// Gives the result; only the first one counts.
  package func resolve(_ result: Result<Value, DatabaseError>) {
    let waiters = state.withLock { state in
      guard state.result == nil else { return [] as [Waiter] }
      state.result = result
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume(returning: result) }
  }

  /// Waits for the result.
  ///
  /// - Throws: the error that came, or `cancelled` when the waiting task is.
  package func value() async throws(DatabaseError) -> Value {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: Waiter) in
        let ready = state.withLock { state -> Result<Value, DatabaseError>? in
          if let result = state.result { return result }
          if state.cancelled.remove(number) != nil { return .failure(Self.cancelled) }
          state.waiters[number] = continuation
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        let waiter = state.waiters.removeValue(forKey: number)
        if waiter == nil, state.result == nil { state.cancelled.insert(number) }
        return waiter
      }
      waiter?.resume(returning: .failure(Self.cancelled))
    }
    return try result.get()
  }

  private static var cancelled: DatabaseError {
    DatabaseError(
      .cancelled, "The task stopped waiting, as it was cancelled; what it waited for goes on.")
  }
}
