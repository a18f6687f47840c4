import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// A backend whose reads and commits fail and whose closing takes as long as a test says; nothing has changed when a
/// commit failed, unless the test says so.
final class FaultyBackend: DocumentBackend, EvictingBackend {
  private let base: any DocumentBackend & EvictingBackend
  private let faults: DiskFaults
  private let owner: StorageOwner?

  init(
    _ base: any DocumentBackend & EvictingBackend, _ faults: DiskFaults,
    _ owner: StorageOwner? = nil
  ) {
    self.base = base
    self.faults = faults
    self.owner = owner
  }

  var traits: BackendTraits { base.traits }

  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    if try faults.commit() { throw DiskFaults.failure }
    return try await base.tree(named: name, order: order)
  }

  func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt {
    let fails = try faults.commit()
    await faults.death?.mayGoOn()
    let receipt = try await base.commit(edits, durability)
    await faults.death?.mayGoOn()
    if fails { throw DiskFaults.failure }
    return receipt
  }

  func commitAndWait(
    _ edits: [StorageEdit], _ durability: Durability
  ) throws(StoreError) -> CommitReceipt {
    let fails = try faults.commit()
    faults.death?.mayGoOnWaiting()
    let receipt = try base.commitAndWait(edits, durability)
    faults.death?.mayGoOnWaiting()
    if fails { throw DiskFaults.failure }
    return receipt
  }

  func harden(_ upTo: CommitID) async throws(StoreError) { try await base.harden(upTo) }

  func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    try faults.read()
    return try base.read(body)
  }

  func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try faults.read()
    return try base.readDocuments(body)
  }

  func node(_ tree: TreeID, _ path: Path) throws(StoreError) -> Node {
    try faults.read()
    return try base.node(tree, path)
  }

  func size() throws(StoreError) -> StoreSize {
    try faults.read()
    return try base.size()
  }

  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool {
    base.setActive(isActive, query, in: tree)
  }

  func observeIncidents(_ handler: (@Sendable () -> Void)?) { base.observeIncidents(handler) }

  func tidy(_ slice: Duration) async throws(StoreError) -> Bool { try await base.tidy(slice) }

  func suspend() async throws(StoreError) { try await base.suspend() }

  func resume() async throws(StoreError) { try await base.resume() }

  func close() async throws(StoreError) {
    await owner?.mayClose()
    defer { owner?.closed() }
    try await base.close()
  }

  func space() throws(StoreError) -> StorageSpace { try base.space() }

  func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    if try faults.commit() { throw DiskFaults.failure }
    return try await base.evict(to: bytes, dryRun: dryRun)
  }

  func explain(_ tree: TreeID, _ path: Path) throws(StoreError) -> SpaceExplanation {
    try base.explain(tree, path)
  }
}

extension StorageConfiguration {
  /// The same storage, whose reads and commits fail when a test says so.
  ///
  /// - Parameter owner: what refuses to have it opened twice; nil for nothing.
  func failing(
    _ faults: DiskFaults, _ owner: StorageOwner? = nil
  ) -> StorageConfiguration {
    let base = self
    return StorageConfiguration(name: name, location: location, options: options) {
      (options) throws(StoreError) in
      try owner?.opened()
      return try base.with(options).wrapped { FaultyBackend($0, faults, owner) }.open()
    }
  }
}
