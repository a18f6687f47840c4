package import ConiferDocument
import ConiferEngine
import ConiferStorage
import ConiferWire

/// The requests of an engine's transactions to the server, each with the token of the user who is
/// signed in.
///
/// They use no stream, and are sent even when the network is not to be used.
struct TransactionRequests {
  let engine: FirestoreEngine

  /// The server's documents.
  func lookup(
    _ paths: [DocumentPath], _ user: TransactionUser
  ) async throws(FirestoreError) -> [Document] {
    try await ask(user) { (service, token) throws(StatusError) in
      try await service.lookup(paths, token: token)
    }
  }

  /// Makes the writes of a transaction.
  func commit(_ writes: [Mutation], _ user: TransactionUser) async throws(FirestoreError) {
    _ = try await ask(user) { (service, token) throws(StatusError) in
      try await service.commit(writes, token: token)
    }
  }

  private func ask<R: Sendable>(
    _ user: TransactionUser,
    _ question: @Sendable (any DocumentService, String?) async throws(StatusError) -> R
  ) async throws(FirestoreError) -> R {
    guard let service = engine.setup.effectiveTransport?.service else {
      throw FirestoreError(DocumentGets.offline)
    }
    // First, so that the user whom this checks is still the one when the request leaves.
    await service.prepare()
    let token: Result<(token: String?, identity: String), FirestoreError> =
      await withCheckedContinuation { continuation in
        engine.run { loop in loop.withToken { continuation.resume(returning: $0) } }
      }
    let shown = try token.get()
    try user.check(shown.identity)
    do throws(StatusError) {
      return try await question(service, shown.token)
    } catch {
      if error.code == .unauthenticated { engine.run { $0.user.invalidate(shown.token) } }
      throw FirestoreError(error)
    }
  }
}

extension FirestoreEngine {
  package func lookup(
    _ paths: [DocumentPath], _ user: TransactionUser
  ) async throws(FirestoreError) -> [Document] {
    try await TransactionRequests(engine: self).lookup(paths, user)
  }

  package func commit(
    _ writes: [Mutation], _ user: TransactionUser
  ) async throws(FirestoreError) {
    try await TransactionRequests(engine: self).commit(writes, user)
  }
}

extension DocumentLoop {
  /// Gives the token of who is signed in and whose it is, or why there is none.
  fileprivate func withToken(
    _ body: @escaping (Result<(token: String?, identity: String), FirestoreError>) -> Void
  ) {
    guard !store.engine.hasEnded else { return body(.failure(store.error)) }
    user.withRequestToken { [self] answer in
      body(answer.map { ($0, store.lane?.identity ?? "") }.mapError { FirestoreError($0) })
    }
  }
}
