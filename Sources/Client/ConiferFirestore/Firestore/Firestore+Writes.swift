// The queue of writes that the server has not finally answered, of whoever is signed in. The Apple SDK has
// nothing like it.
extension Firestore {
  /// A window of the waiting and refused writes, oldest first.
  ///
  /// - Parameters:
  ///   - id: the last one before the window; nil for the beginning.
  ///   - limit: the most to give.
  /// - Throws: what the storage does; `cancelled`.
  public func pendingWrites(
    after id: WriteReceipt.ID? = nil, limit: Int = 100
  ) async throws(FirestoreError) -> [PendingWriteBatch] {
    try await writes(after: id, limit, rejectedOnly: false)
  }

  /// A window of the writes that the server refused and that wait for the app, oldest first.
  ///
  /// - Parameters:
  ///   - id: the last one before the window; nil for the beginning.
  ///   - limit: the most to give.
  /// - Throws: what the storage does; `cancelled`.
  public func rejectedWrites(
    after id: WriteReceipt.ID? = nil, limit: Int = 100
  ) async throws(FirestoreError) -> [PendingWriteBatch] {
    try await writes(after: id, limit, rejectedOnly: true)
  }

  private func writes(
    after id: WriteReceipt.ID?, _ limit: Int, rejectedOnly: Bool
  ) async throws(FirestoreError) -> [PendingWriteBatch] {
    let found = try await engine().pendingWrites(
      after: id?.number, limit: max(0, limit), rejectedOnly: rejectedOnly)
    return found.map { PendingWriteBatch(self, $0) }
  }

  /// How writes ended; waits until they have, also for those of a run before.
  ///
  /// - Parameter id: what their receipt gave.
  /// - Throws: `notFound` for an id that the store does not know, or no longer; `cancelled`.
  public func outcome(
    of id: WriteReceipt.ID
  ) async throws(FirestoreError) -> WriteReceipt.Outcome {
    try await engine().outcome(of: id)
  }

  /// Queues refused writes again, as they are, in their old place; they show again.
  ///
  /// - Throws: `notFound` for writes that the user's queue does not hold, `failedPrecondition` for those that
  ///   wait; what the storage does.
  public func retry(_ id: WriteReceipt.ID) async throws(FirestoreError) {
    try await engine().retry(id)
  }

  /// Gives up writes that wait or are refused; listeners see what is there without them.
  ///
  /// They are not sent any more. If their outcome is unknown, the server may have made them nevertheless.
  ///
  /// - Throws: `notFound` for writes that the user's queue does not hold, `failedPrecondition` for those that
  ///   are under way to the server; what the storage does.
  public func discard(_ id: WriteReceipt.ID) async throws(FirestoreError) {
    try await engine().discard(id)
  }
}
