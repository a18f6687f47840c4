import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// A backend that refuses what a test says, and otherwise does what another one does.
final class FailingBackend: DocumentBackend, EvictingBackend {
  private let backend: any DocumentBackend & EvictingBackend
  private let faults: StorageFaults

  init(_ backend: any DocumentBackend & EvictingBackend, _ faults: StorageFaults) {
    self.backend = backend
    self.faults = faults
  }

  private func check(_ edits: [StorageEdit]) throws(StoreError) {
    try faults.check(edits) { (query) throws(StoreError) in
      try backend.read { (view) throws(StoreError) in
        try view.trackedQuery(query.tree, query.path, query.parameters) != nil
      }
    }
  }

  func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt {
    try check(edits)
    let receipt = try await backend.commit(edits, durability)
    faults.committed(edits, receipt.commit, durability)
    return receipt
  }

  func commitAndWait(
    _ edits: [StorageEdit], _ durability: Durability
  ) throws(StoreError) -> CommitReceipt {
    try check(edits)
    let receipt = try backend.commitAndWait(edits, durability)
    faults.committed(edits, receipt.commit, durability)
    return receipt
  }

  func read<R>(
    _ body: (any StorageView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try readDocuments { (view) throws(StoreError) in try body(view) }
  }

  func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try backend.readDocuments { (view) throws(StoreError) in
      try body(FailingView(view, faults))
    }
  }

  func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    try faults.check(.eviction)
    return try await backend.evict(to: bytes, dryRun: dryRun)
  }

  // MARK: What never fails

  var traits: BackendTraits { backend.traits }

  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    try await backend.tree(named: name, order: order)
  }
  func harden(_ upTo: CommitID) async throws(StoreError) {
    try faults.check(.sync)
    try await backend.harden(upTo)
    faults.hardened(upTo)
  }
  func size() throws(StoreError) -> StoreSize { try backend.size() }
  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool {
    if isActive, faults.isRefused(.activation) { return false }
    return backend.setActive(isActive, query, in: tree)
  }
  func observeIncidents(_ handler: (@Sendable () -> Void)?) { backend.observeIncidents(handler) }
  func tidy(_ slice: Duration) async throws(StoreError) -> Bool { try await backend.tidy(slice) }
  func suspend() async throws(StoreError) { try await backend.suspend() }
  func resume() async throws(StoreError) { try await backend.resume() }
  func close() async throws(StoreError) { try await backend.close() }
  func space() throws(StoreError) -> StorageSpace { try backend.space() }
  func explain(_ tree: TreeID, _ path: Path) throws(StoreError) -> SpaceExplanation {
    try backend.explain(tree, path)
  }
}
