import Dispatch
import Synchronization

/// A commit that is ready to be made, so that what makes it ready is not timed.
package enum Operation: Sendable {
  /// It holds its thread until it is done.
  case blocking(@Sendable () throws -> UInt64)
  /// It suspends until it is done.
  case awaiting(@Sendable () async throws -> UInt64)
  /// It suspends, or holds its thread where it is told to.
  case committing(
    blocking: @Sendable () throws -> UInt64, awaiting: @Sendable () async throws -> UInt64)

  /// Performs it; returns the number of a queued write, else 0.
  @discardableResult
  package func run() async throws -> UInt64 {
    switch self {
    case .blocking(let body): try body()
    case .awaiting(let body), .committing(_, let body): try await body()
    }
  }

  /// Does it on a thread that waits meanwhile; not for threads that run tasks.
  @discardableResult
  package func runBlocking() throws -> UInt64 {
    let body: @Sendable () async throws -> UInt64
    switch self {
    case .blocking(let body), .committing(let body, _): return try body()
    case .awaiting(let awaiting): body = awaiting
    }
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Result<UInt64, any Error>?>(nil)
    Task.detached(priority: .high) {
      let outcome: Result<UInt64, any Error>
      do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
      result.withLock { $0 = outcome }
      done.signal()
    }
    done.wait()
    return try result.withLock { $0 }?.get() ?? 0
  }
}
