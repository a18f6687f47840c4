import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Uses are written along with commits, and by nothing else.
@Suite struct RecencyTests {
  private static let options = StorageOptions(budget: nil, compression: .none)

  private static func open(_ base: MemoryStore) throws -> PackedBackend<ProbeStore> {
    try PackedBackend(ProbeStore(base), name: "probe", options: options)
  }

  @Test func `Reading, listening, asking and rehearsing write nothing`() async throws {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "main")
    let ids = try await backend.commit(
      (0..<40).map { .saveQuery(TrackedQuery(tree: tree, path: Path("q\($0)"))) }
    ).queries
    let before = backend.store.applied.withLock { $0.count }
    for round in 0..<200 {
      backend.setActive(round % 2 == 0, ids[round % 40], in: tree)
      _ = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
      _ = try backend.space()
      _ = try backend.explain(tree, "q1")
    }
    _ = try await backend.evict(to: 0, dryRun: true)
    #expect(backend.store.applied.withLock { $0.count } == before)
    try await backend.commit([.overwrite(tree, "a", 1)])
    #expect(backend.store.applied.withLock { $0.count } == before + 1)
  }

  @Test func `A write does no more work for a thousand queries that ended`() async throws {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "main")
    func write() throws -> (edits: Int, lent: Int) {
      let lent = try backend.store.counting {
        _ = try backend.commitAndWait([.enqueue(Lane(tree: tree), .set("a", 1))], .process)
      }
      return (backend.store.applied.withLock { $0.last?.edits ?? 0 }, lent)
    }
    _ = try write()
    let before = try write()
    let ids = try await backend.commit(
      (0..<1000).map { .saveQuery(TrackedQuery(tree: tree, path: Path("q\($0)"))) }
    ).queries
    for isActive in [true, false] {
      for id in ids { backend.setActive(isActive, id, in: tree) }
    }
    for _ in 0..<300 {
      let now = try write()
      // Four uses are stored with each, the counter, and what the queries take.
      #expect(now.edits <= before.edits + 6 && now.lent <= before.lent + 20, "\(before), \(now)")
    }
    let stored = try backend.read { (view) throws(StoreError) in
      try view.trackedQueries(tree, after: nil, limit: .max)
    }
    #expect(stored.allSatisfy { $0.query.lastUse > 1000 })
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `A crash sets no query back by more than the quantum`(_ seed: UInt64) async throws {
    var random = Seeded(seed)
    let base = MemoryStore()
    let backend = try Self.open(base)
    let tree = try await backend.tree(named: "main")
    let ids = try await backend.commit(
      (0..<12).map { .saveQuery(TrackedQuery(tree: tree, path: Path("q\($0)"))) }
    ).queries
    var uses: [QueryID: UInt64] = [:]
    for round in 0..<600 {
      let id = ids[Int.random(in: 0..<12, using: &random)]
      backend.setActive(Bool.random(using: &random), id, in: tree)
      uses[id] = backend.engine.activity.clock
      guard Int.random(in: 0..<9, using: &random) == 0 else { continue }
      try await backend.commit([.overwrite(tree, "a", Node(.integer(Int64(round))))])
      // What lies in the store now is what a killed process leaves.
      for id in ids {
        let stored = try backend.read { (view) throws(StoreError) in
          try view.trackedQuery(tree, id)?.lastUse ?? .max
        }
        let use = uses[id] ?? 0
        #expect(stored <= use && use < stored + 16, "\(use), stored \(stored), seed \(seed)")
      }
    }
    let clock = backend.engine.activity.clock
    let next = try Self.open(base)
    #expect(next.engine.activity.clock + 16 > clock, "seed \(seed)")
    #expect(next.engine.activity.active.isEmpty)
  }

  @Test func `An orderly close writes every use`() async throws {
    let base = MemoryStore()
    let backend = try Self.open(base)
    let tree = try await backend.tree(named: "main")
    let ids = try await backend.commit(
      (0..<100).map { .saveQuery(TrackedQuery(tree: tree, path: Path("q\($0)"))) }
    ).queries
    for id in ids.reversed() { backend.setActive(true, id, in: tree) }
    try await backend.suspend()
    try await backend.resume()
    let view = try base.view()
    let queries = Queries(view: view, tree: tree, order: .realtimeDatabase)
    let stored = try queries.window(after: nil, limit: .max)
    #expect(stored.map(\.query.lastUse) == (1...100).reversed())
  }

  @Test(arguments: [UInt64.max, UInt64.max / 2, UInt64.max - 16])
  func `A last use near the end of numbers is as good as any`(_ lastUse: UInt64) async throws {
    let base = MemoryStore()
    let backend = try Self.open(base)
    let tree = try await backend.tree(named: "main")
    let id = try await backend.commit([
      .saveQuery(TrackedQuery(tree: tree, path: "a", lastUse: lastUse))
    ]).queries[0]
    backend.setActive(true, id, in: tree)
    try await backend.commit([.overwrite(tree, "a", 1)])
    // A counter that a store holds is not trusted further.
    var writer = ByteWriter()
    writer.varint(lastUse)
    try backend.engine.writer.change(.process) { (tx) throws(StoreError) in
      let key = StoreKey.prefix(TreeID(rawValue: 0)) + [UInt8(ascii: "u")]
      try tx.put(Spaces.system, key, payload: writer.bytes)
    }
    let next = try Self.open(base)
    next.setActive(true, id, in: tree)
    try await next.commit([.overwrite(tree, "a", 2)])
    #expect(next.engine.activity.clock < UInt64.max / 2 + 99)
  }

  @Test func `Uses that are not worth a record hold up no others`() async throws {
    let base = MemoryStore()
    let backend = try Self.open(base)
    let tree = try await backend.tree(named: "main")
    let ids = try await backend.commit(
      (0..<80).map { .saveQuery(TrackedQuery(tree: tree, path: Path("q\($0)"))) }
    ).queries
    for (round, id) in ids.enumerated() {
      for _ in 0..<12 { backend.setActive(true, id, in: tree) }
      let use = backend.engine.activity.clock
      try await backend.commit([.overwrite(tree, "a", Node(.integer(Int64(round))))])
      let stored = try backend.read { (view) throws(StoreError) in
        try view.trackedQuery(tree, id)?.lastUse ?? .max
      }
      #expect(stored <= use && use < stored + 16, "use \(use) of query \(round), stored \(stored)")
      backend.setActive(false, id, in: tree)
      try await backend.commit([.overwrite(tree, "a", Node(.integer(-Int64(round))))])
    }
    // What was evicted is remembered no longer.
    _ = try await backend.evict(to: 0, dryRun: false)
    #expect(backend.engine.activity.uses.isEmpty)
  }
}
