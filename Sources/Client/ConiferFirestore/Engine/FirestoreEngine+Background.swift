package import ConiferEngine

extension FirestoreEngine {
  /// Waits until no write of the user waits for the server, or until a time.
  package func drain(
    until deadline: Double
  ) async throws(FirestoreError) -> PendingWriteTotals {
    let drain = QueueDrain()
    run { loop in
      loop.drains.begin(drain)
      if loop.store.engine.hasEnded { loop.drains.endAll(loop.queue.left) }
    }
    let end: @Sendable () -> Void = { [weak steps] in
      steps?.post(.run(.none) { loop in loop.drains.end(drain, loop.queue.left) })
    }
    if let alarm = setup.clock.moment(of: deadline) { setup.clock.wake(at: alarm, end) }
    do throws(DatabaseError) {
      return try await drain.left(orEnd: end)
    } catch { throw FirestoreError(error) }
  }
}
