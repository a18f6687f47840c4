import ConiferEngine

// Passes calls to the engine, and reports errors of calls that do not reach it.
extension Firestore {
  /// Has the engine do something that ends with a call of a completion block; nil for none.
  ///
  /// What keeps it from being done is told to the block, or to the log.
  func perform(
    _ completion: UserCode<(any Error)?>?,
    _ call: (any DocumentEngine, @escaping @Sendable (FirestoreError?) -> Void)
      throws(FirestoreError) -> Void
  ) {
    do throws(FirestoreError) {
      try call(try engine()) { [weak self] error in
        if let completion { completion(error) } else if let error { self?.report(error) }
      }
    } catch {
      guard let completion else { return report(error) }
      deliver { completion(error) }
    }
  }

  /// Has the engine do something, and waits until it says that it has.
  ///
  /// - Throws: what keeps it from being done, `cancelled`, `failedPrecondition` when the database is terminated
  ///   meanwhile.
  nonisolated(nonsending)
    func wait<Value: Sendable>(
      _ call: (
        any DocumentEngine, @escaping @Sendable (Result<Value, FirestoreError>) -> Void
      ) throws(FirestoreError) -> Void
    ) async throws(FirestoreError) -> Value
  {
    let answer = Promise<Result<Value, FirestoreError>>()
    try call(try engine()) { answer.resolve(.success($0)) }
    let waiting = whenTerminated { answer.resolve(.success(.failure(.terminated))) }
    defer { forget(waiting) }
    let result: Result<Value, FirestoreError>
    do throws(DatabaseError) {
      result = try await answer.value()
    } catch {
      throw FirestoreError(error)
    }
    return try result.get()
  }

  /// Asks the engine a question, and waits for the answer; when that is no longer waited for, the question is cancelled.
  ///
  /// - Throws: what the question throws, `cancelled`, `failedPrecondition` when the database is terminated meanwhile.
  nonisolated(nonsending)
    func ask<Value: Sendable>(
      _ question:
        @escaping @Sendable (any DocumentEngine) async throws(FirestoreError) -> Value
    ) async throws(FirestoreError) -> Value
  {
    var asking: Task<Void, Never>?
    defer { asking?.cancel() }
    return try await wait { engine, told in
      asking = Task.detached {
        do throws(FirestoreError) {
          told(.success(try await question(engine)))
        } catch {
          told(.failure(error))
        }
      }
    }
  }

  /// Has the engine do something, and waits until it says that it has.
  ///
  /// - Throws: what keeps it from being done, `cancelled`.
  nonisolated(nonsending)
    func waitUntil(
      _ call: (any DocumentEngine, @escaping @Sendable (FirestoreError?) -> Void)
        throws(FirestoreError) -> Void
    ) async throws(FirestoreError)
  {
    let _: Bool = try await wait { (engine, told) throws(FirestoreError) in
      try call(engine) { told($0.map { .failure($0) } ?? .success(true)) }
    }
  }
}
