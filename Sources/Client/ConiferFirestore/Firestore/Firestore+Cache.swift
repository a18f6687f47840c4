import ConiferKeyValue
import ConiferStorage

// All that is kept here.
extension Firestore {
  /// Removes all that is kept: documents, indexes, and writes that wait. Only before the first use and after
  /// ``terminate(completion:)``.
  ///
  /// - Parameter completion: given `failedPrecondition` while the database is used, what the store says, or
  ///   nil; on the callback queue.
  public func clearPersistence(completion: (((any Error)?) -> Void)? = nil) {
    let user = completion.map { UserCode<(any Error)?>($0) }
    Task { [self] in
      do throws(FirestoreError) {
        try await clearPersistence()
        if let user { deliver { user(nil) } }
      } catch {
        if let user { deliver { user(error) } } else { report(error) }
      }
    }
  }

  /// Removes all that is kept: documents, indexes, and writes that wait. Only before the first use and after
  /// ``terminate(completion:)``.
  ///
  /// - Throws: `failedPrecondition` while the database is used; what the store says.
  public func clearPersistence() async throws(FirestoreError) {
    guard isAtRest else {
      throw FirestoreError(
        .failedPrecondition,
        "What is kept cannot be removed while the database is used. Call terminate first, or this "
          + "before anything else.")
    }
    let configuration = completed()
    guard configuration.isPersistenceEnabled else { return }
    do throws(StoreError) {
      let backend = try configuration.effectiveStorage.open()
      do throws(StoreError) {
        let tree = try await backend.tree(named: "\(database)", order: .documents)
        _ = try await backend.commit([.wipe(tree)], configuration.options.durability.wanted)
      } catch {
        try? await backend.close()
        throw error
      }
      try await backend.close()
    } catch {
      throw FirestoreError(error, "What is kept was not removed")
    }
  }

  /// Tells the database that somebody signed in or out, so that it asks the token provider anew.
  ///
  /// What the app writes after the call, at once and on any thread, is written as who is signed in then: it
  /// waits until the provider has answered. Until then, listeners and gets show the waiting writes of who
  /// was signed in before.
  public func tokenDidChange() {
    do throws(FirestoreError) {
      try engine().tokenDidChange()
    } catch {
      report(error)
    }
  }
}
