import Synchronization

/// The callers that wait until the queue of writes is empty, or for no longer than they have time.
package final class QueueDrains {
  package typealias Answer = @Sendable (Result<PendingWriteTotals, DatabaseError>) -> Void

  private var waiting: [(number: UInt64, answer: Answer)] = []
  private var last: UInt64 = 0

  package init() {}

  /// How many wait.
  package var count: Int { waiting.count }

  /// Whether a caller waits.
  package func isWaiting(_ number: UInt64) -> Bool { waiting.contains { $0.number == number } }

  /// Begins to wait.
  ///
  /// - Returns: the number of the caller, for `end`.
  package func begin(_ answer: @escaping Answer) -> UInt64 {
    last += 1
    waiting.append((last, answer))
    return last
  }

  /// Answers those who wait if nothing does any more.
  ///
  /// - Parameter totals: what the queue holds; asked for only when somebody waits.
  package func look(_ totals: () -> Result<PendingWriteTotals, DatabaseError>) {
    guard !waiting.isEmpty else { return }
    // A queue that cannot be read now may be read later.
    guard case .success(let totals) = totals(), totals.pending == 0 else { return }
    answer(.success(totals))
  }

  /// A caller's time is over.
  package func end(
    _ number: UInt64, _ totals: () -> Result<PendingWriteTotals, DatabaseError>
  ) {
    guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
    waiting.remove(at: index).answer(totals())
  }

  /// Nothing is sent for now: all are told what is left.
  package func endAll(_ totals: () -> Result<PendingWriteTotals, DatabaseError>) {
    guard !waiting.isEmpty else { return }
    answer(totals())
  }

  private func answer(_ result: Result<PendingWriteTotals, DatabaseError>) {
    let all = waiting
    waiting = []
    for entry in all { entry.answer(result) }
  }
}

/// A task that waits until the queue of writes is empty.
package final class QueueDrain: Sendable {
  private let totals = Promise<PendingWriteTotals>()
  /// Its number among the callers that wait; 0 until it is one.
  fileprivate let number = Atomic<UInt64>(0)

  package init() {}

  fileprivate func answer(_ result: Result<PendingWriteTotals, DatabaseError>) {
    totals.resolve(result)
  }

  /// Waits for what is left.
  ///
  /// - Parameter end: asks the engine to end the waiting; called when the task is cancelled.
  /// - Throws: why the queue cannot be read, or `cancelled`.
  package func left(orEnd end: () -> Void) async throws(DatabaseError) -> PendingWriteTotals {
    do throws(DatabaseError) {
      return try await totals.value()
    } catch {
      end()
      throw error
    }
  }
}

extension QueueDrains {
  /// A task begins to wait.
  package func begin(_ drain: QueueDrain) {
    drain.number.store(begin { drain.answer($0) }, ordering: .relaxed)
  }

  /// The time of a task is over, or it waits no longer.
  package func end(
    _ drain: QueueDrain, _ totals: () -> Result<PendingWriteTotals, DatabaseError>
  ) { end(drain.number.load(ordering: .relaxed), totals) }
}
