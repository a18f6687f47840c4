package import ConiferEngine

extension FirestoreEngine {
  /// Asks something about the user's queue between two steps.
  private func withQueue<R: Sendable>(
    isChange: Bool = false,
    _ question: @escaping @Sendable (DocumentQueue) throws(FirestoreError) -> R
  ) async throws(FirestoreError) -> R {
    try await ask(.queue(isChange: isChange)) { loop in
      Result { () throws(FirestoreError) in try question(loop.queue) }
    }.get()
  }

  /// How a write ended that may be of an earlier run; waits until it has.
  package func outcome(
    of id: WriteReceipt.ID
  ) async throws(FirestoreError) -> WriteReceipt.Outcome {
    let receipt = WriteReceipt()
    let known = try await withQueue { (queue) throws(FirestoreError) in
      try queue.outcome(of: id, receipt)
    }
    if let known { return known }
    do throws(DatabaseError) {
      return try await receipt.outcome
    } catch {
      throw FirestoreError(error)
    }
  }

  /// A window of the user's writes that wait or were refused.
  package func pendingWrites(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(FirestoreError) -> [PendingDocumentWrite] {
    try await withQueue { (queue) throws(FirestoreError) in
      try queue.list(after: number, limit: limit, rejectedOnly: rejectedOnly)
    }
  }

  /// Queues a refused write again, in its old place.
  package func retry(_ id: WriteReceipt.ID) async throws(FirestoreError) {
    try await withQueue(isChange: true) { (queue) throws(FirestoreError) in try queue.retry(id) }
  }

  /// Gives up a write that is not on its way.
  package func discard(_ id: WriteReceipt.ID) async throws(FirestoreError) {
    try await withQueue(isChange: true) { (queue) throws(FirestoreError) in try queue.discard(id) }
  }
}
