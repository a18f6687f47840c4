package import ConiferKeyValue
package import ConiferStorage
import Dispatch

/// What an app asks about its storage: answered beside the engine's work, since much may have to be read.
package struct StorageQuestions: Sendable {
  package let backend: any StorageBackend
  /// The lane of who is signed in.
  package let lane: Lane

  /// The questions to an engine's storage.
  ///
  /// - Throws: why it is not open.
  package init(_ storage: EngineStorage) throws(DatabaseError) {
    guard let backend = storage.backend, let lane = storage.lane else { throw storage.error }
    if let own = storage.authorityStore {
      self.backend = own.backend
      self.lane = Lane(tree: own.tree)
    } else {
      self.backend = backend
      self.lane = lane
    }
  }

  /// Asks, on a thread that may wait.
  package func ask<R: Sendable>(
    _ question: @escaping @Sendable (StorageQuestions) throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    let result: Result<R, StoreError> = await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: .utility).async {
        do throws(StoreError) {
          continuation.resume(returning: .success(try question(self)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  /// What the storage takes, by what it holds.
  package func space() async throws(StoreError) -> StorageSpace {
    try await ask { (asked) throws(StoreError) in try asked.backend.evicting().space() }
  }

  /// Makes the cache smaller.
  package func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    try await backend.evicting().evict(to: bytes, dryRun: dryRun)
  }

  /// Reads all that is stored, and checks it.
  package func verify() async throws(StoreError) -> VerificationReport {
    try await ask { (asked) throws(StoreError) in try asked.backend.verifying().verify() }
  }

  /// The reports of damage.
  package func incidents() async throws(StoreError) -> [Incident] {
    try await ask { (asked) throws(StoreError) in
      try asked.backend.read { (view) throws(StoreError) in try view.incidents() }
    }
  }
}
