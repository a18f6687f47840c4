import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

@Suite struct EvictionTests {
  /// A memory backend with rooms of about 20 KB, each with a tracked query; room 0 is the oldest.
  private static func filled(
    _ rooms: Int, budget: Int? = nil
  ) async throws -> (MemoryBackend, TreeID, [QueryID]) {
    let backend = try MemoryBackend(
      MemoryStore(), name: "memory",
      options: StorageOptions(budget: budget, compression: .none))
    let tree = try await backend.tree(named: "main")
    var ids: [QueryID] = []
    for room in 0..<rooms {
      let path = Path("rooms/r\(room)")
      let query = TrackedQuery(tree: tree, path: path, isComplete: true, lastUse: UInt64(room + 1))
      ids += try await backend.commit([.overwrite(tree, path, Self.room(room)), .saveQuery(query)])
        .queries
    }
    return (backend, tree, ids)
  }

  private static func room(_ number: Int) -> Node {
    Node(
      children: (0..<100).map {
        (
          Key("m\($0)"),
          Node(.string("room \(number) message \($0) " + String(repeating: "x", count: 150)))
        )
      })
  }

  private func node(_ backend: MemoryBackend, _ tree: TreeID, _ path: Path) throws -> Node {
    try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
  }

  @Test func `The least recently used queries go, with their data, and nothing else`() async throws
  {
    let (backend, tree, ids) = try await Self.filled(20)
    let before = try backend.space().cache
    let dry = try await backend.evict(to: before / 2, dryRun: true)
    #expect(try backend.space().cache == before)
    let report = try await backend.evict(to: before / 2, dryRun: false)
    #expect(report.isMet && report.before == before)
    // The rows that count the others are not counted themselves.
    #expect(try abs(backend.space().cache - report.after) < 64)
    #expect(report.queries.map(\.path) == dry.queries.map(\.path))
    #expect(abs(report.after - dry.after) < 64)
    let gone = report.queries.count
    #expect((9...11).contains(gone))
    #expect(report.queries.map(\.path) == (0..<gone).map { Path("rooms/r\($0)") })
    #expect(report.queries.allSatisfy { $0.bytes > 10_000 })
    for room in 0..<20 {
      #expect(
        try node(backend, tree, Path("rooms/r\(room)")) == (room < gone ? .empty : Self.room(room)))
      let query = try backend.read { (view) throws(StoreError) in
        try view.trackedQuery(tree, ids[room])
      }
      #expect((query == nil) == (room < gone))
    }
  }

  @Test func `Uncovered data goes first; pins and active queries stay`() async throws {
    let (backend, tree, ids) = try await Self.filled(6)
    try await backend.commit([
      .overwrite(tree, "stray", Self.room(7)), .pin(Pin(tree: tree, path: "rooms/r1")),
    ])
    backend.setActive(true, ids[0], in: tree)
    let first = try await backend.evict(to: backend.space().cache - 10_000, dryRun: false)
    #expect(first.queries.isEmpty && first.uncovered > 15_000)
    #expect(try node(backend, tree, "stray").isEmpty)
    let report = try await backend.evict(to: 0, dryRun: false)
    #expect(!report.isMet)
    #expect(report.queries.map(\.path) == (2...5).map { Path("rooms/r\($0)") })
    #expect(try node(backend, tree, "rooms") == ["r0": Self.room(0), "r1": Self.room(1)])
    let space = try backend.space()
    #expect(space.pinned > 15_000 && space.pinned < 30_000)
    backend.setActive(false, ids[0], in: tree)
    _ = try await backend.evict(to: 0, dryRun: false)
    #expect(try node(backend, tree, "rooms") == ["r1": Self.room(1)])
  }

  @Test func `An explanation adds up and tells whose turn it is`() async throws {
    let (backend, tree, ids) = try await Self.filled(6)
    try await backend.commit([
      .overwrite(tree, "stray", Self.room(7)), .pin(Pin(tree: tree, path: "rooms/r1")),
      .enqueue(Lane(tree: tree), .set("rooms/r2/m3", "new")),
    ])
    backend.setActive(true, ids[0], in: tree)
    let root = try backend.explain(tree, .root)
    #expect(abs(root.pinned + root.active + root.tracked + root.uncovered - root.bytes) <= 8)
    #expect(root.leaves == 700 && root.fate == .parts && root.pendingWrites == 1)
    #expect(root.pinned > 15_000 && root.active > 15_000 && root.uncovered > 15_000)
    #expect(root.tracked > 60_000)
    #expect(try backend.explain(tree, "rooms/r0/m1").fate == .stays)
    #expect(try backend.explain(tree, "rooms/r1").fate == .stays)
    #expect(try backend.explain(tree, "rooms/r2").fate == .afterQueries(0))
    #expect(try backend.explain(tree, "rooms/r5").fate == .afterQueries(3))
    #expect(try backend.explain(tree, "stray").fate == .first)
    #expect(try backend.explain(tree, "nowhere").bytes == 0)
    #expect(try backend.explain(tree, "nowhere").fate == .absent)
  }

  @Test func `A stream of data keeps under the budget`() async throws {
    let backend = try MemoryBackend(
      MemoryStore(), name: "memory", options: StorageOptions(budget: 1 << 20, compression: .none))
    let tree = try await backend.tree(named: "main")
    var most = 0
    for room in 0..<200 {
      let path = Path("rooms/r\(room)")
      let query = TrackedQuery(tree: tree, path: path, isComplete: true, lastUse: UInt64(room + 1))
      try await backend.commit([.overwrite(tree, path, Self.room(room)), .saveQuery(query)])
      most = max(most, try backend.space().cache)
    }
    #expect(most <= 2 << 20)
    // The newest is there, the oldest is not.
    #expect(try node(backend, tree, "rooms/r199") == Self.room(199))
    #expect(try node(backend, tree, "rooms/r0").isEmpty)
    try await eventually("The cache stays over its budget.") { try !backend.space().isOverBudget }
  }

  @Test func `More than a thousand inactive queries are too many`() async throws {
    let backend = try MemoryBackend(
      MemoryStore(), name: "memory", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    for first in stride(from: 0, to: 1200, by: 100) {
      try await backend.commit(
        (first..<first + 100).map { index in
          .saveQuery(TrackedQuery(tree: tree, path: Path("q\(index)"), lastUse: UInt64(index + 1)))
        })
    }
    // A commit comes after the run that is under way.
    var left: [StoredQuery] = []
    try await eventually("More than a thousand queries stay.") {
      left = try backend.read { (view) throws(StoreError) in
        try view.trackedQueries(tree, after: nil, limit: .max)
      }
      return left.count <= 1000
    }
    #expect(left.count >= 900)
    #expect(left.last?.query.path == "q1199")
  }

  @Test func `A query that was just saved is not taken for the least recently used one`()
    async throws
  {
    let (backend, tree, _) = try await Self.filled(0, budget: StorageOptions.smallestBudget)
    for number in 0..<60 {
      let room = Path("rooms/r\(number)")
      // As the client does: the query is saved, and said to be active when its number is known. An
      // eviction may come between them.
      let saved = try await backend.commit([
        .overwrite(tree, room, Self.room(number)),
        .saveQuery(TrackedQuery(tree: tree, path: room, isComplete: true)),
      ]).queries
      let id = try #require(saved.first)
      for step in 0..<20 as Range<Int64> {
        try await backend.commit([.overwrite(tree, "x", Node(.integer(step)))])
      }
      let query = try backend.read { (view) throws(StoreError) in try view.trackedQuery(tree, id) }
      #expect(query != nil, "room \(number)")
      #expect(backend.setActive(true, id, in: tree) && backend.setActive(false, id, in: tree))
    }
    // No commit waited for eviction: it goes on while nothing else comes.
    var left = 60
    for _ in 0..<60_000 where left == 60 {
      try await Task.sleep(for: .milliseconds(1))
      left = try backend.read { (view) throws(StoreError) in
        try view.trackedQueries(tree, below: "rooms").count
      }
    }
    #expect(left < 60)
  }

  @Test func `A query that was removed is active no more`() async throws {
    let (backend, tree, ids) = try await Self.filled(3)
    let other = try await backend.tree(named: "other")
    let query = TrackedQuery(tree: other, path: "a")
    let there = try await backend.commit([.saveQuery(query)]).queries[0]
    backend.setActive(true, ids[1], in: tree)
    backend.setActive(true, there, in: other)
    backend.setActive(true, ids[2], in: tree)
    try await backend.commit([.removeQuery(tree, ids[1]), .wipe(other)])
    #expect(backend.engine.activity.active == [Activity.Name(tree: tree, query: ids[2])])
  }

  @Test func `An authority never evicts`() async throws {
    let backend = try MemoryBackend(
      MemoryStore(), name: "memory", options: StorageOptions(budget: 1 << 20, role: .authority))
    do {
      _ = try await backend.evict(to: 0, dryRun: false)
      Issue.record("it evicted")
    } catch {
      #expect(error.code == .invalid)
    }
  }
}
