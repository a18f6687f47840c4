import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport

@testable import ConiferStorage

/// A store in memory that refuses as `full`, while a test says so, what does not make room.
final class FullStore: ForwardingStore {
  let base = MemoryStore()
  private let isFull = Mutex(false)

  /// Whether the disk is full.
  func setFull(_ full: Bool) { isFull.withLock { $0 = full } }

  /// What opens it, again and again.
  var configuration: StorageConfiguration {
    StorageConfiguration(name: "full", location: nil, options: StorageOptions()) {
      [self] (options) throws(StoreError) in
      try PackedBackend(self, name: "full", options: options)
    }
  }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    if isFull.withLock({ $0 }), !batch.makesRoom {
      throw StoreError(.full, "The disk is full, as the test asked for.")
    }
    return try base.apply(batch, durability)
  }

  /// It stays, for whoever opens it next.
  func close() throws(StoreError) {}
}
