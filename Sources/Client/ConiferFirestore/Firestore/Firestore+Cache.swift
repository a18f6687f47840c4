import ConiferEngine
import ConiferKeyValue
import ConiferStorage

// All that is kept here.
extension Firestore {
  /// Removes all that is kept: documents, indexes, and writes that wait. Only before the first use and after
  /// ``terminate(completion:)``; calls that come later find nothing that was kept before.
  ///
  /// - Parameter completion: given `failedPrecondition` while the database is used, what the store says, or
  ///   nil; on the callback queue.
  public func clearPersistence(completion: (((any Error)?) -> Void)? = nil) {
    let user = completion.map { UserCode<(any Error)?>($0) }
    let told: @Sendable (FirestoreError?) -> Void = { [self] error in
      if let user { deliver { user(error) } } else if let error { report(error) }
    }
    do throws(FirestoreError) {
      try clear(told)
    } catch {
      told(error)
    }
  }

  /// Removes all that is kept: documents, indexes, and writes that wait. Only before the first use and after
  /// ``terminate(completion:)``; calls that come later find nothing that was kept before.
  ///
  /// - Throws: `failedPrecondition` while the database is used; what the store says; `cancelled`, when the
  ///   waiting task is: the removal goes on then.
  public func clearPersistence() async throws(FirestoreError) {
    let cleared = Promise<Void>()
    try clear { cleared.resolve($0.map { .failure(DatabaseError($0)) } ?? .success(())) }
    do throws(DatabaseError) {
      try await cleared.value()
    } catch {
      throw FirestoreError(error)
    }
  }

  /// Begins to remove what is kept; whoever opens the storage after the call waits until that is done.
  ///
  /// - Throws: `failedPrecondition` while the database is used.
  private func clear(
    _ told: @escaping @Sendable (FirestoreError?) -> Void
  ) throws(FirestoreError) {
    let (before, use) = try beginClearing()
    let configuration = completed()
    Task {
      // Nobody cancels this task.
      try? await before?.over()
      let failure: FirestoreError?
      do throws(FirestoreError) {
        try await configuration.wipe()
        failure = nil
      } catch {
        failure = error
      }
      use.end()
      told(failure)
    }
  }
}
