import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Synchronization

/// Whether a store fails, as a test says.
final class DiskFaults: Sendable {
  private let state = Mutex(false)

  /// Whether commits fail, as on a disk that is not there for a while.
  var isFailing: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  func check() throws(StoreError) {
    if isFailing { throw StoreError(.io, "The disk fails, as the test asked for.") }
  }
}

/// A backend whose commits fail when a test says so; nothing has changed then.
final class FaultyBackend: DocumentBackend, EvictingBackend {
  private let base: any DocumentBackend & EvictingBackend
  private let faults: DiskFaults

  init(_ base: any DocumentBackend & EvictingBackend, _ faults: DiskFaults) {
    self.base = base
    self.faults = faults
  }

  var traits: BackendTraits { base.traits }

  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    try faults.check()
    return try await base.tree(named: name, order: order)
  }

  func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt {
    try faults.check()
    return try await base.commit(edits, durability)
  }

  func commitAndWait(
    _ edits: [StorageEdit], _ durability: Durability
  ) throws(StoreError) -> CommitReceipt {
    try faults.check()
    return try base.commitAndWait(edits, durability)
  }

  func harden(_ upTo: CommitID) async throws(StoreError) { try await base.harden(upTo) }

  func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    try base.read(body)
  }

  func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R { try base.readDocuments(body) }

  func node(_ tree: TreeID, _ path: Path) throws(StoreError) -> Node { try base.node(tree, path) }

  func size() throws(StoreError) -> StoreSize { try base.size() }

  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool {
    base.setActive(isActive, query, in: tree)
  }

  func tidy(_ slice: Duration) async throws(StoreError) -> Bool { try await base.tidy(slice) }

  func suspend() async throws(StoreError) { try await base.suspend() }

  func resume() async throws(StoreError) { try await base.resume() }

  func close() async throws(StoreError) { try await base.close() }

  func space() throws(StoreError) -> StorageSpace { try base.space() }

  func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    try faults.check()
    return try await base.evict(to: bytes, dryRun: dryRun)
  }

  func explain(_ tree: TreeID, _ path: Path) throws(StoreError) -> SpaceExplanation {
    try base.explain(tree, path)
  }
}

extension StorageConfiguration {
  /// The same storage, whose commits fail when a test says so.
  func failing(_ faults: DiskFaults) -> StorageConfiguration {
    let base = self
    return StorageConfiguration(name: name, location: location, options: options) {
      (options) throws(StoreError) in
      let opened = try base.with(options).open()
      guard let backend = opened as? any DocumentBackend & EvictingBackend else {
        throw StoreError(.unsupported, "The backend \(base.name) does not evict.")
      }
      return FaultyBackend(backend, faults)
    }
  }
}
