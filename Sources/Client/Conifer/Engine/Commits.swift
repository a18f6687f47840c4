import ConiferKeyValue
import ConiferStorage
import ConiferSync

/// Does what the parts of an engine ask for: stores edits, and calls the app.
final class Commits {
  /// The most units that share a commit.
  private static let largestGroup = 256

  private let storage: EngineStorage
  private let shown: ShownWrites
  private let cache: AnswerCache
  private let connection: Connection
  private let outbox: Outbox
  private let callbackQueue: CallbackQueue

  init(
    _ storage: EngineStorage, _ shown: ShownWrites, _ cache: AnswerCache,
    _ connection: Connection, _ outbox: Outbox, _ callbackQueue: CallbackQueue
  ) {
    self.storage = storage
    self.shown = shown
    self.cache = cache
    self.connection = connection
    self.outbox = outbox
    self.callbackQueue = callbackQueue
  }

  /// Has edits stored with the next commit.
  func add(_ edits: [StorageEdit], then: @escaping (Outbox.Stored) -> Void) {
    outbox.commit(edits, then: then)
  }

  /// Has the app called behind the step.
  func call(_ body: @escaping @Sendable () -> Void) { outbox.call(body) }

  /// Whether edits wait to be stored.
  var hasUnits: Bool { outbox.unitCount > 0 }

  /// Whether nothing more may join the next commit, as what follows must see it stored.
  var isSealed: Bool { outbox.isSealed }

  /// Whether the next commit is as large as one should be.
  var isFull: Bool { outbox.unitCount >= Self.largestGroup }

  /// Stores what was asked for, in one commit; when that fails, each unit alone.
  func store() {
    guard hasUnits else { return }
    cache.willCommit()
    outbox.commitUnits(before: storeEnds, commit)
  }

  /// Hands what the app is to be told to the callback queue, in order.
  func callApp() {
    let calls = outbox.takeCalls()
    guard !calls.isEmpty else { return }
    callbackQueue.async { for call in calls { call() } }
  }

  private func commit(_ edits: [StorageEdit]) throws(StoreError) -> CommitReceipt {
    shown.willStore(edits)
    return try storage.commit(edits)
  }

  /// Tries again to store how writes ended, where that failed before.
  private func storeEnds() {
    for (id, edits) in shown.records.unstoredEnds {
      do throws(StoreError) {
        _ = try commit(edits)
      } catch {
        // The store refuses it as invalid: the write has ended already, or is gone.
        guard error.code == .invalid else { continue }
      }
      shown.records.stored(id)
      connection.tell(.finished(id))
    }
  }
}
