package import ConiferDocument
package import ConiferEngine
import ConiferStorage
import ConiferWire

extension FirestoreEngine {
  /// Queues writes that the server makes whole or not at all.
  package func write(
    _ writes: [Mutation], _ ended: (@Sendable (FirestoreError?) -> Void)?
  ) -> WriteReceipt {
    let ended = ended.map { untilEnd($0) }
    if writes.isEmpty {
      if let ended { run { $0.outbox.addCall { ended(nil) } } }
      return .nothing(setup.options.durability.wanted)
    }
    let receipt = WriteReceipt()
    let completion = ended.map { ended -> @Sendable (DatabaseError?) -> Void in
      { ended($0.map { FirestoreError($0) }) }
    }
    steps.post(.write(writes, WriteCaller(receipt: receipt, completion: completion)))
    return receipt
  }

  /// Calls once all writes of now were accepted or refused.
  package func waitForPendingWrites(_ told: @escaping @Sendable (FirestoreError?) -> Void) {
    let told = untilEnd(told)
    run(.queue(isChange: false)) { $0.wait(told) }
  }

  /// The server's documents, for a transaction.
  package func lookup(
    _ paths: [DocumentPath], _ user: TransactionUser
  ) async throws(FirestoreError) -> [Document] {
    try await asking(user) { (service, token) throws(StatusError) in
      try await service.lookup(paths, token: token)
    }
  }

  /// Makes the writes of a transaction.
  package func commit(
    _ writes: [Mutation], _ user: TransactionUser
  ) async throws(FirestoreError) {
    _ = try await asking(user) { (service, token) throws(StatusError) in
      try await service.commit(writes, token: token)
    }
  }

  /// Asks the server something with the token of a transaction's user.
  private func asking<R: Sendable>(
    _ user: TransactionUser,
    _ question: @Sendable (any DocumentService, String?) async throws(StatusError) -> R
  ) async throws(FirestoreError) -> R {
    guard let service = setup.effectiveTransport?.service else {
      throw FirestoreError(DocumentGets.offline)
    }
    let token: Result<(token: String?, identity: String), FirestoreError> =
      await withCheckedContinuation { continuation in
        run { loop in loop.withToken { continuation.resume(returning: $0) } }
      }
    let shown = try token.get()
    try user.check(shown.identity)
    do throws(StatusError) {
      return try await question(service, shown.token)
    } catch {
      if error.code == .unauthenticated { run { $0.user.invalidateToken() } }
      throw FirestoreError(error)
    }
  }
}

extension DocumentLoop {
  /// Tells once all writes of now were accepted or refused.
  fileprivate func wait(_ told: @escaping WriteWaiters.Told) {
    guard store.lane != nil else { return outbox.addCall { [error = store.error] in told(error) } }
    writes.waiters.wait(told)
  }
}
