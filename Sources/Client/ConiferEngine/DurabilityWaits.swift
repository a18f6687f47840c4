package import ConiferKeyValue
package import ConiferStorage

/// The callers that wait until a commit survives power loss. Syncs run beside the steps, each for all that wait then.
package final class DurabilityWaits {
  package typealias Answer = @Sendable (Result<Durability, DatabaseError>) -> Void

  private var waiting: [(commit: CommitID, answer: Answer)] = []
  /// Whether a sync is under way or about to begin.
  package private(set) var isRunning = false
  /// What does nothing in the storage meanwhile.
  private var housekeeping: HousekeepingRunner?
  /// Who waits until nobody waits for durability.
  private var finishing: [CheckedContinuation<Void, Never>] = []
  /// Has the engine call `run` beside its steps.
  private let begin: @Sendable (any StorageBackend) -> Void

  package init(_ begin: @escaping @Sendable (any StorageBackend) -> Void) { self.begin = begin }

  /// Answers when a commit survives power loss, or at once where the storage cannot promise that much. Nothing is
  /// answered while the storage is not open: who closes it answers those who wait.
  package func tell(
    whenDurable commit: CommitID, in storage: EngineStorage, _ answer: @escaping Answer
  ) {
    guard let backend = storage.backend else { return }
    guard storage.strongest == .power else { return answer(.success(storage.strongest)) }
    waiting.append((commit, answer))
    guard !isRunning else { return }
    isRunning = true
    housekeeping = storage.housekeeping
    housekeeping?.commitBegan()
    begin(backend)
  }

  /// Has a receipt told when a commit, such as that which queued its write, is as durable as is wanted.
  ///
  /// - Parameter commit: nil when nothing was committed yet.
  package func tell(
    _ receipt: WriteReceipt, whenDurable commit: CommitID?, as wanted: Durability,
    in storage: EngineStorage
  ) {
    guard storage.backend != nil else { return receipt.setDurable(.failure(storage.error)) }
    guard wanted == .power, let commit else {
      return receipt.setDurable(.success(min(max(.process, wanted), storage.strongest)))
    }
    tell(whenDurable: commit, in: storage) { receipt.setDurable($0) }
  }

  /// Syncs until nobody waits.
  package nonisolated(nonsending) func run(_ backend: any StorageBackend) async {
    while let last = waiting.last {
      let batch = waiting
      waiting = []
      var result: Result<Durability, DatabaseError> = .success(.power)
      do throws(StoreError) {
        try await backend.harden(last.commit)
      } catch {
        result = .failure(
          DatabaseError(error, "The write is queued, but may not survive power loss"))
      }
      for entry in batch { entry.answer(result) }
    }
    isRunning = false
    housekeeping?.commitEnded(edits: 0)
    housekeeping = nil
    for continuation in finishing { continuation.resume() }
    finishing = []
  }

  /// Returns when nobody waits any longer; nobody begins to meanwhile.
  package nonisolated(nonsending) func finish() async {
    guard isRunning else { return }
    await withCheckedContinuation { finishing.append($0) }
  }
}
