package import ConiferEngine

extension FirestoreEngine {
  /// Lets go of the store until `resume`.
  package func suspend() async throws(FirestoreError) { try await finish { .suspend($0) } }

  /// Goes on with the store.
  package func resume() async throws(FirestoreError) { try await finish { .resume($0) } }

  private func finish(
    _ step: (@escaping @Sendable (FirestoreError?) -> Void) -> DocumentStep
  ) async throws(FirestoreError) {
    let error = await withCheckedContinuation { continuation in
      steps.post(step { continuation.resume(returning: $0) })
    }
    if let error { throw error }
  }

  /// Waits until no write of the user waits for the server, or until a time.
  package func drain(
    until deadline: Double
  ) async throws(FirestoreError) -> PendingWriteTotals {
    let alarm = setup.clock.moment(of: deadline)
    let post: @Sendable (DocumentStep) -> Void = { [weak steps] in steps?.post($0) }
    let result: Result<PendingWriteTotals, DatabaseError> = await withCheckedContinuation {
      continuation in
      run(.queue(isChange: false)) { [clock = setup.clock] loop in
        let number = loop.drains.begin { continuation.resume(returning: $0) }
        if loop.store.engine.hasEnded { return loop.drains.endAll(loop.queue.totals) }
        guard let alarm else { return }
        clock.wake(at: alarm) {
          post(.run(.none) { loop in loop.drains.end(number, loop.queue.totals) })
        }
      }
    }
    do throws(DatabaseError) { return try result.get() } catch { throw FirestoreError(error) }
  }
}
