import ConiferKeyValue
import Synchronization

/// A store with the rows that were read from a damaged one. It reports what is missing as its
/// findings, so that the backend above it trusts nothing that a lost row may have changed.
final class SalvagedStore: OrderedStore {
  private let base: any OrderedStore
  private let lost: Mutex<[StoreFinding]>

  init(_ base: any OrderedStore, lost: [StoreFinding]) {
    self.base = base
    self.lost = Mutex(lost)
  }

  var traits: StoreTraits { base.traits }
  var findings: [StoreFinding] { lost.withLock { $0 } }
  func acknowledgeFindings() throws(StoreError) { lost.withLock { $0 = [] } }
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    try base.verify(found)
  }
  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    // Durability is not necessary, since the store is deleted afterwards.
    try base.apply(batch, min(.process, durability))
  }
  func harden(_ upTo: CommitID) throws(StoreError) {}
  func view() throws(StoreError) -> any OrderedView { try base.view() }
  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { try base.tidy(slice) }
  func suspend() throws(StoreError) { try base.suspend() }
  func resume() throws(StoreError) { try base.resume() }
  func close() throws(StoreError) { try base.close() }
}
