import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// A backend that takes its store again knows nothing of what another process did to it meanwhile.
@Suite struct ResumptionTests {
  /// A store that another backend has too.
  private final class SharedStore: OrderedStore {
    private let base: MemoryStore
    let traits = StoreTraits(
      longestKey: 510, bestValueSize: 4080, writeQuantum: 64, strongest: .power, isPersistent: true)
    /// The durability of every batch.
    let applied = Mutex<[Durability]>([])

    init(_ base: MemoryStore) { self.base = base }

    func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
      applied.withLock { $0.append(durability) }
      return try base.apply(batch, .relaxed)
    }
    func harden(_ upTo: CommitID) throws(StoreError) {}
    func view() throws(StoreError) -> any OrderedView { try base.view() }
    func size() throws(StoreError) -> StoreSize { try base.size() }
    func tidy(_ slice: Duration) throws(StoreError) -> Bool { false }
    func suspend() throws(StoreError) {}
    func resume() throws(StoreError) {}
    func close() throws(StoreError) {}
    var findings: [StoreFinding] { [] }
    func acknowledgeFindings() throws(StoreError) {}
    func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
  }

  private typealias Backend = PackedBackend<SharedStore>

  private static func backend(_ base: MemoryStore) throws -> Backend {
    try Backend(SharedStore(base), name: "shared", options: StorageOptions(budget: nil))
  }

  @Test func `A durable commit that changes nothing is one of what another process wrote`()
    async throws
  {
    let base = MemoryStore()
    let (own, other) = (try Self.backend(base), try Self.backend(base))
    let tree = try await own.tree(named: "main")
    _ = try await own.commit([.overwrite(tree, "a", 1)], .power)
    try await own.suspend()
    _ = try await other.commit([.overwrite(tree, "x", 1)], .process)
    try await own.resume()
    let before = own.store.applied.withLock { $0.count }
    _ = try await own.commit([.overwrite(tree, "x", 1)], .power)
    #expect(own.store.applied.withLock { Array($0[before...]) } == [.power])
  }

  @Test func `A tree whose name was lost meanwhile is not made again`() async throws {
    let base = MemoryStore()
    let own = try Self.backend(base)
    _ = try await own.tree(named: "main")
    try await own.suspend()
    var batch = Batch()
    batch.delete(Spaces.system, SystemKey.treeName("main").bytes)
    _ = try base.apply(batch, .relaxed)
    try await own.resume()
    let error = await #expect(throws: StoreError.self) { try await own.tree(named: "main") }
    #expect(error?.code == .damaged)
  }

  @Test func `Uses count on from those of another process`() async throws {
    let base = MemoryStore()
    let (own, other) = (try Self.backend(base), try Self.backend(base))
    let tree = try await own.tree(named: "main")
    func save(_ backend: Backend, _ path: Path) async throws -> QueryID {
      let query = TrackedQuery(tree: tree, path: path, isComplete: true)
      let receipt = try await backend.commit([.overwrite(tree, path, 1), .saveQuery(query)])
      return try #require(receipt.queries.first)
    }
    let mine = try await save(own, "mine")
    try await own.suspend()
    let theirs = try await save(other, "theirs")
    for _ in 1...200 { other.setActive(true, theirs, in: tree) }
    try await other.suspend()
    try await own.resume()
    own.setActive(true, mine, in: tree)
    own.setActive(false, mine, in: tree)
    try await own.suspend()
    let late = try Self.backend(base)
    let uses = try late.read { (view) throws(StoreError) in
      (try view.trackedQuery(tree, mine)?.lastUse, try view.trackedQuery(tree, theirs)?.lastUse)
    }
    #expect(uses.0 ?? 0 > uses.1 ?? .max, "\(uses)")
  }
}
