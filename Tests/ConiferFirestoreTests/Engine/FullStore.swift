import ConiferKeyValue
import ConiferStorage
import Synchronization

@testable import ConiferStorage

/// A store in memory that refuses as `full`, while a test says so, what does not make room.
final class FullStore: OrderedStore {
  private let base = MemoryStore()
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

  var traits: StoreTraits { base.traits }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    if isFull.withLock({ $0 }), !batch.makesRoom {
      throw StoreError(.full, "The disk is full, as the test asked for.")
    }
    return try base.apply(batch, durability)
  }

  func harden(_ upTo: CommitID) throws(StoreError) { try base.harden(upTo) }
  func view() throws(StoreError) -> any OrderedView { try base.view() }
  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { try base.tidy(slice) }
  func suspend() throws(StoreError) { try base.suspend() }
  func resume() throws(StoreError) { try base.resume() }
  /// It stays, for whoever opens it next.
  func close() throws(StoreError) {}
  var findings: [StoreFinding] { base.findings }
  func acknowledgeFindings() throws(StoreError) { try base.acknowledgeFindings() }
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { try base.verify(found) }
}
