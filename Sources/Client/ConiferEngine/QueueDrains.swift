/// The callers that wait until the queue of writes is empty, or for no longer than they have time.
package final class QueueDrains {
  package typealias Answer = @Sendable (Result<PendingWriteTotals, DatabaseError>) -> Void

  private var waiting: [(number: UInt64, answer: Answer)] = []
  private var last: UInt64 = 0

  package init() {}

  /// How many wait.
  package var count: Int { waiting.count }

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
