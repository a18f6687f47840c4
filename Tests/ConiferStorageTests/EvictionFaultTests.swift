import ConiferDocument
import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Evictions that are cut off, refused and met by damage; what they leave is found later.
@Suite struct EvictionFaultTests {
  static let options = StorageOptions(budget: 1 << 20, compression: .none)

  static func room(_ number: Int, leaves: Int = 100) -> Node {
    Node(
      children: (0..<leaves).map {
        (
          Key("m\($0)"),
          Node(.string("room \(number) message \($0) " + String(repeating: "x", count: 150)))
        )
      })
  }

  /// Rooms of about 20 KB, each with a query; the first is the least recently used one.
  static func rooms(_ tree: TreeID, _ numbers: Range<Int>) -> [StorageEdit] {
    numbers.flatMap { number -> [StorageEdit] in
      let path = Path("rooms/r\(number)")
      return [
        .overwrite(tree, path, room(number)),
        .saveQuery(TrackedQuery(tree: tree, path: path, lastUse: UInt64(number + 1))),
      ]
    }
  }

  static func queries(_ store: ProbeStore, _ tree: TreeID) throws -> [Path] {
    let view = try store.view()
    defer { view.close() }
    return try Queries(view: view, tree: tree, order: .realtimeDatabase)
      .window(after: nil, limit: .max).map(\.query.path)
  }

  /// Evicts until the engine has nothing more to do.
  static func waitUntilIdle(_ engine: PackedEngine) {
    for _ in 0..<10_000 where engine.evictor.hasWork { _ = engine.drain([]) }
    #expect(!engine.evictor.hasWork)
  }

  static func cache(_ store: ProbeStore) throws -> Int {
    let view = try store.view()
    defer { view.close() }
    return try PhysicalFactor(stored: view, store.size()).cache(stored: view)
  }

  static func isEmpty(
    _ engine: PackedEngine, _ tree: TreeID, _ path: Path
  ) throws -> Bool {
    let view = try engine.writer.store.view()
    defer { view.close() }
    return try PackedView(LeafSnapshot(engine.leaves, view))
      .node(tree, path, .all).isEmpty
  }

  @Test func `A slice that has no time left when it begins goes on all the same`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, StorageOptions(budget: nil), Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    _ = engine.group([Self.rooms(tree, 0..<4) + [.overwrite(tree, "stray", Self.room(9))]])
    let view = try store.view()
    var run = try Eviction(view, to: 0)
    view.close()
    var swept = SweptTrees()
    for _ in 0..<1000 where !run.isDone {
      var next = run
      let size = try store.size()
      try engine.writer.change(.relaxed) { (tx) throws(StoreError) in
        try next.slice(tx, PhysicalFactor(tx, size), engine.activity, &swept) {
          true
        }
      }
      run = next
    }
    #expect(run.isDone)
    #expect(try Self.isEmpty(engine, tree, .root))
  }

  @Test func `What an eviction that failed did not reach is still the first to go`() async throws {
    let store = ProbeStore()
    let backend = try PackedBackend(store, name: "probe", options: Self.options)
    let tree = try await backend.tree(named: "main")
    try await backend.commit([.overwrite(tree, "stray", Self.room(99, leaves: 3800))])
    store.mostBatches.withLock { $0 = store.applied.withLock { $0.count } + 1 }
    do {
      _ = try await backend.evict(to: 0, dryRun: false)
      Issue.record("it evicted all in one batch")
    } catch {
      #expect(error.code == .io)
    }
    store.mostBatches.withLock { $0 = .max }
    let stray = try backend.space().cache
    try #require(stray > 200_000 && stray < 700_000, "\(stray)")
    let count = ((1 << 20) - stray) / 16_000 + 2
    try await backend.commit(Self.rooms(tree, 0..<count))
    try await eventually("The cache stays over its budget.") { try !backend.space().isOverBudget }
    #expect(try backend.space().cache <= 1 << 20)
    #expect(try Self.queries(store, tree).count == count)
  }

  @Test(arguments: [.zero, .milliseconds(3), .seconds(60)] as [Duration])
  func `A full disk only delays an eviction`(slice: Duration) throws {
    var options = Self.options
    options.evictionSlice = slice
    let store = ProbeStore()
    let filler = PackedEngine(
      store, StorageOptions(budget: nil, compression: .none), Activity(after: 0))
    let tree = try filler.committer.tree("main", .realtimeDatabase, .process)
    _ = filler.group([Self.rooms(tree, 0..<80)])
    let engine = PackedEngine(store, options, Activity(after: 80))
    let full = try Self.cache(store)
    try #require(full > 1 << 20)
    // Room for a small commit, with its number, but for no slice, however short: one that forgets a query
    // changes three and the number.
    store.mostEdits.withLock { $0 = 3 }
    #expect(engine.group([[.overwrite(tree, "x", 1)]]).first?.code == nil)
    Self.waitUntilIdle(engine)
    #expect(try Self.cache(store) >= full)
    store.mostEdits.withLock { $0 = .max }
    #expect(engine.group([[.overwrite(tree, "x", 2)]]).first?.code == nil)
    Self.waitUntilIdle(engine)
    #expect(try Self.cache(store) <= 1 << 20)
  }

  @Test func `What an eviction is still to reach counts as uncovered for all others`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    _ = engine.group([[.overwrite(tree, "stray", Self.room(99, leaves: 3800))]])
    let view = try store.view()
    let run = try Eviction(view, to: 0)
    view.close()
    #expect(try !engine.evictor.slice(run).isDone)
    let count = try ((1 << 20) - Self.cache(store)) / 16_000 + 2
    _ = engine.group([Self.rooms(tree, 0..<count)])
    Self.waitUntilIdle(engine)
    #expect(try Self.cache(store) <= 1 << 20)
    #expect(try Self.queries(store, tree).count == count)
  }

  @Test func `The data of a query whose record was damaged is the first to go`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    _ = engine.group([Self.rooms(tree, 0..<30)])
    let view = try store.view()
    var run = try Eviction(view, to: Self.cache(store) - 1000)
    view.close()
    while !run.isDone { run = try engine.evictor.slice(run) }
    try #require(run.report.queries.map(\.path) == ["rooms/r0"])
    let last = try #require(try store.base.keys(Spaces.queries).filter { $0.count == 12 }.last)
    try store.base.damage(Spaces.queries, last)
    try engine.repairer.repair(StoreError.Place(space: Spaces.queries.id, key: last))
    try #require(try !Self.queries(store, tree).contains("rooms/r29"))
    var next = 30
    while !engine.evictor.phase.isRunning, next < 99 {
      _ = engine.group([Self.rooms(tree, next..<next + 1)])
      _ = engine.drain([])
      if try Self.isEmpty(engine, tree, "rooms/r29") { break }
      next += 1
    }
    Self.waitUntilIdle(engine)
    #expect(next < 99)
    #expect(try Self.isEmpty(engine, tree, "rooms/r29"))
  }

  @Test func `An eviction that was suspended goes on after the next commit`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    _ = engine.group([[.overwrite(tree, "stray", Self.room(1, leaves: 16_000))]])
    try #require(engine.evictor.hasWork)
    try store.suspend()
    _ = engine.drain([])
    #expect(!engine.evictor.hasWork)
    #expect(engine.group([[.overwrite(tree, "a", 1)]])[0].code == .suspended)
    try store.resume()
    _ = engine.group([[.overwrite(tree, "a", 1)]])
    Self.waitUntilIdle(engine)
    #expect(try Self.cache(store) <= 1 << 20)
  }

  @Test func `A damaged count of another tree holds up no eviction`() throws {
    let store = ProbeStore()
    let first = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try first.committer.tree("main", .realtimeDatabase, .process)
    let other = try first.committer.tree("other", .realtimeDatabase, .process)
    _ = first.group([[.overwrite(other, "a", Self.room(1))]])
    try store.base.damage(Spaces.usage, StoreKey.prefix(other))
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    _ = engine.group([[.overwrite(tree, "stray", Self.room(1, leaves: 16_000))]])
    Self.waitUntilIdle(engine)
    #expect(try Self.cache(store) <= 1 << 20)
  }
}
