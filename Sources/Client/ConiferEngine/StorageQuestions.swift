package import ConiferKeyValue
package import ConiferStorage
import Dispatch

/// What an app asks about its storage: answered beside the engine's work, since much may have to be read.
package struct StorageQuestions: Sendable {
  package let backend: any StorageBackend
  /// The lane of who is signed in.
  package let lane: Lane
  /// How often the engine had let go of the storage when they were made.
  private let suspensionCount: Int

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
    suspensionCount = storage.suspensionCount
  }

  /// Whether nothing was ever stored, as an authority makes its tree with the first write.
  package var isEmpty: Bool { lane.tree.rawValue == 0 }

  /// Asks a storage, on a thread that may wait. What fails while the engine lets go of the storage is asked again once it
  /// has been resumed.
  ///
  /// - Parameter find: gives the questions to the storage once it is open.
  /// - Throws: what `find` and the question throw, or `cancelled`: a question that is under way then goes on.
  package static func ask<R: Sendable>(
    _ find: () async throws(DatabaseError) -> StorageQuestions,
    _ question: @escaping @Sendable (StorageQuestions) async throws(StoreError) -> R
  ) async throws(DatabaseError) -> R {
    var asked = try await find()
    while true {
      do throws(DatabaseError) {
        return try await asked.answer(question)
      } catch {
        guard error.code != .cancelled else { throw error }
        let now = try await find()
        guard now.suspensionCount != asked.suspensionCount else { throw error }
        asked = now
      }
    }
  }

  private func answer<R: Sendable>(
    _ question: @escaping @Sendable (StorageQuestions) async throws(StoreError) -> R
  ) async throws(DatabaseError) -> R {
    let answer = Promise<R>()
    Task(executorPreference: WaitingThreads.shared) {
      do throws(StoreError) {
        answer.resolve(.success(try await question(self)))
      } catch {
        answer.resolve(.failure(DatabaseError(error, "The storage could not be asked")))
      }
    }
    return try await answer.value()
  }
}

/// Runs what may wait for a disk beside the pool of the runtime, which has few threads.
private final class WaitingThreads: TaskExecutor {
  static let shared = WaitingThreads()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    DispatchQueue.global(qos: .utility).async {
      job.runSynchronously(on: WaitingThreads.shared.asUnownedTaskExecutor())
    }
  }
}

// The questions of both clients.
extension StorageQuestions {
  /// What the storage takes, by what it holds.
  package func space() throws(StoreError) -> StorageSpace { try backend.evicting().space() }

  /// Makes the cache smaller.
  package func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    try await backend.evicting().evict(to: bytes, dryRun: dryRun)
  }

  /// Reads all that is stored, and checks it.
  package func verify() throws(StoreError) -> VerificationReport {
    try backend.verifying().verify()
  }

  /// A window of the reports of damage.
  ///
  /// - Parameter needingCare: whether to leave out those that somebody has dealt with, or need not.
  package func incidents(
    needingCare: Bool, after position: IncidentPosition, limit: Int
  ) throws(StoreError) -> IncidentWindow {
    try backend.read { (view) throws(StoreError) in
      let known = try needingCare ? IncidentAcknowledgements(view) : nil
      return try view.incidents(after: position, limit: limit) { known?.isOpen($0) ?? true }
    }
  }

  /// Remembers that reports need no more care.
  package func acknowledge(_ incidents: [Incident]) async throws(StoreError) {
    let meant = Set(incidents)
    guard !meant.isEmpty else { return }
    let edits = try backend.read { (view) throws(StoreError) in
      try IncidentAcknowledgements(view).adding(in: view) { meant.contains($0) }.edits
    }
    guard !edits.isEmpty else { return }
    _ = try await backend.commit(edits, backend.traits.store.strongest)
  }
}
