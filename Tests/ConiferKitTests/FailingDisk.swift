import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport

/// A store in memory whose commits fail when a test says so.
final class FailingDisk: Sendable {
  enum Condition: Sendable {
    case sound
    case failing(StoreError.Code)
    /// A commit is made, and reported as failed.
    case doubtful
  }

  private let condition = Mutex(Condition.sound)
  private let counts = Mutex((doubted: 0, failures: 0))
  private let base = MemoryStore()

  /// How many commits were made, and reported as failed.
  var doubted: Int { counts.withLock { $0.doubted } }
  /// How many failed.
  var failures: Int { counts.withLock { $0.failures } }

  func set(_ new: Condition) { condition.withLock { $0 = new } }

  private func willApply(_ batch: Batch) throws(StoreError) {
    switch condition.withLock({ $0 }) {
    case .sound: return
    case .failing(let code):
      counts.withLock { $0.failures += 1 }
      throw StoreError(code, "The test says so.")
    case .doubtful:
      _ = try base.apply(batch, .relaxed)
      counts.withLock { $0.doubted += 1 }
      throw StoreError(.poisoned, "The test says so.")
    }
  }

  var storage: StorageConfiguration {
    StorageConfiguration(
      name: "failing", location: nil, options: StorageOptions(durability: .relaxed)
    ) { (options) throws(StoreError) in
      let store = GuardedStore(self.base) { (batch) throws(StoreError) in
        try self.willApply(batch)
      }
      return try PackedBackend(store, name: "failing", options: options)
    }
  }
}
