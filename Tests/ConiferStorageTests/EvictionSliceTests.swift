import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Eviction in slices: cut off behind any of them, it goes on later, and none of them is long.
@Suite struct EvictionSliceTests {
  private static let rooms = 12

  private static func room(_ number: Int, leaves: Int = 120) -> Node {
    var random = Seeded(UInt64(number + 1))
    return Node(
      children: (0..<leaves).map { leaf in
        let text = (0..<12).map { _ in String(random.next(), radix: 36) }.joined()
        return (Key("m\(leaf)"), Node(.string(text)))
      })
  }

  /// A store with rooms, each with a query; room 1 is pinned, and some data is not covered.
  private static func filled(_ store: ProbeStore, leaves: Int = 120) async throws -> TreeID {
    let backend = try PackedBackend(store, name: "probe", options: options)
    let tree = try await backend.tree(named: "main")
    for number in 0..<rooms {
      let path = Path("rooms/r\(number)")
      try await backend.commit([
        .overwrite(tree, path, room(number, leaves: leaves)),
        .saveQuery(
          TrackedQuery(tree: tree, path: path, isComplete: true, lastUse: UInt64(number + 1))),
      ])
    }
    try await backend.commit([
      .overwrite(tree, "stray", room(99, leaves: leaves)), .pin(Pin(tree: tree, path: "rooms/r1")),
      .enqueue(Lane(tree: tree), .set("rooms/r2", "pending")),
    ])
    while try await backend.tidy(.seconds(1)) {}
    return tree
  }

  private static let options = StorageOptions(budget: nil, compression: .none)

  /// Evicts in slices of one stride each, as many as said; gives whether all was done.
  private static func evict(_ store: ProbeStore, slices: Int) throws -> Bool {
    let engine = PackedEngine(store, options, Activity(after: 0))
    let view = try store.view()
    var run = try Eviction(view, to: 0)
    view.close()
    var swept = SweptTrees()
    for _ in 0..<slices where !run.isDone {
      let size = try store.size()
      var next = run
      try engine.writer.change(.relaxed) { (tx) throws(StoreError) in
        var asked = 0
        let factor = try PhysicalFactor(tx, size)
        try next.slice(tx, factor, engine.activity, &swept) {
          asked += 1
          return asked > 2
        }
      }
      run = next
    }
    return run.isDone
  }

  @Test func `An eviction that was cut off behind any slice is finished by the next one`()
    async throws
  {
    var slices = 0
    var isDone = false
    while !isDone {
      let store = ProbeStore()
      let tree = try await Self.filled(store)
      isDone = try Self.evict(store, slices: slices)
      try expectExactUsage(store.base, "after \(slices) slices", inFull: true)
      // What the process leaves is what the next one opens.
      let backend = try PackedBackend(
        ProbeStore(store.base), name: "probe", options: Self.options)
      try Self.expectWhole(backend, tree, "after \(slices) slices")
      let report = try await backend.evict(to: 0, dryRun: false)
      let (left, pinned) = try backend.read { (view) throws(StoreError) in
        (try view.node(tree, .root), try view.trackedQueries(tree, after: nil, limit: 99))
      }
      #expect(left == ["rooms": ["r1": Self.room(1)]], "after \(slices) slices")
      #expect(pinned.map(\.query.path) == ["rooms/r1"], "after \(slices) slices")
      #expect(!report.isMet)
      try expectExactUsage(store.base, "at the end, after \(slices) slices", inFull: true)
      slices += 1
    }
    #expect(slices > 10)
  }

  @Test func `An eviction that the store stops at any batch is finished later`() async throws {
    var fails = 0
    var isDone = false
    while !isDone {
      let store = ProbeStore()
      let tree = try await Self.filled(store)
      let backend = try PackedBackend(store, name: "probe", options: Self.options)
      let before = store.applied.withLock { $0.count }
      store.mostBatches.withLock { $0 = before + fails }
      do {
        _ = try await backend.evict(to: 0, dryRun: false)
        isDone = true
      } catch {
        #expect(error.code == .io)
      }
      try expectExactUsage(store.base, "stopped at batch \(fails)", inFull: true)
      try Self.expectWhole(backend, tree, "stopped at batch \(fails)")
      store.mostBatches.withLock { $0 = .max }
      _ = try await backend.evict(to: 0, dryRun: false)
      let left = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
      #expect(left == ["rooms": ["r1": Self.room(1)]], "stopped at batch \(fails)")
      try expectExactUsage(store.base, "at the end, stopped at batch \(fails)", inFull: true)
      fails += 1
    }
    #expect(fails > 1)
  }

  /// Every query that is left has its data whole, the pinned room is there, and nothing was changed.
  private static func expectWhole(
    _ backend: PackedBackend<ProbeStore>, _ tree: TreeID, _ when: String
  ) throws {
    let (node, queries, writes) = try backend.read { (view) throws(StoreError) in
      (
        try view.node(tree, "rooms"), try view.trackedQueries(tree, after: nil, limit: 99),
        try view.totals(Lane(tree: tree)).pending
      )
    }
    #expect(writes == 1, "\(when)")
    #expect(queries.contains { $0.query.path == "rooms/r1" }, "\(when)")
    for stored in queries {
      guard let name = stored.query.path.last?.string, let number = Int(name.dropFirst()) else {
        Issue.record("a query at \(stored.query.path)")
        continue
      }
      #expect(node[Key(name)] == room(number), "room \(number) \(when)")
    }
    for child in node.children {
      guard let number = Int(child.key.string.dropFirst()) else { continue }
      let whole = room(number)
      for leaf in child.node.children { #expect(leaf.node == whole[leaf.key], "\(when)") }
    }
  }

  @Test func `No slice of an eviction changes much at once`() async throws {
    let store = ProbeStore()
    let tree = try await Self.filled(store, leaves: 8000)
    let runs = try store.base.keys(Spaces.runs).count
    let before = store.applied.withLock { $0.count }
    let backend = try PackedBackend(store, name: "probe", options: Self.options)
    _ = try await backend.evict(to: 0, dryRun: false)
    let batches = store.applied.withLock { $0.dropFirst(before).map(\.edits) }
    #expect(runs > 1000, "\(runs) runs")
    // A stride of 32 runs may come on top.
    #expect(batches.allSatisfy { $0 <= 64 + 40 }, "\(batches)")
    #expect(batches.count > runs / 104)
    let left = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
    #expect(left == ["rooms": ["r1": Self.room(1, leaves: 8000)]])
  }

  @Test func `An eviction reads few records for each run that goes`() async throws {
    let store = ProbeStore()
    _ = try await Self.filled(store, leaves: 2000)
    let runs = try store.base.keys(Spaces.runs).count
    let backend = try PackedBackend(store, name: "probe", options: Self.options)
    let before = store.lent.withLock { $0 }
    _ = try await backend.evict(to: 0, dryRun: false)
    let read = store.lent.withLock { $0 } - before
    let gone = runs - (try store.base.keys(Spaces.runs).count)
    #expect(gone > 250, "\(gone) runs")
    #expect(Double(read) < 5.5 * Double(gone), "\(read) records for \(gone) runs")
  }

  @Test
  func `However far a cache was over its budget when it was opened, no commit waits for a slice`()
    async throws
  {
    let store = ProbeStore()
    _ = try await Self.filled(store, leaves: 6000)
    let budget = StorageOptions.smallestBudget
    let engine = PackedEngine(
      store, StorageOptions(budget: budget, compression: .none), Activity(after: 0))
    let batches = { store.applied.withLock { $0.count } }
    let tree = TreeID(rawValue: 1)
    var slices = 0
    repeat {
      let before = batches()
      let edit: StorageEdit =
        slices % 2 == 0
        ? .setMetadata(tree, "slice", [UInt8(slices & 255)])
        : .overwrite(tree, "small", Node(.string("slice \(slices)")))
      _ = engine.group([[edit]])
      #expect(batches() == before + 1)
      _ = engine.drain([])
      slices += 1
    } while engine.evictor.hasWork && slices < 1000
    #expect(slices > 20)
    let run = try PackedBackend(store, name: "probe", options: Self.options)
    #expect(try run.space().cache <= budget)
  }

  /// An eviction to half of the cache, with its dry run, in a store whose size changes with each batch.
  private static func halve(
    _ extra: @escaping @Sendable (Int) -> (own: Int, shared: Int)
  ) async throws -> (told: EvictionReport, done: EvictionReport, left: Int) {
    let store = ProbeStore()
    _ = try await Self.filled(store, leaves: 2000)
    let before = store.applied.withLock { $0.count }
    store.extra.withLock { $0 = { extra($0 - before) } }
    let backend = try PackedBackend(store, name: "probe", options: Self.options)
    let target = try backend.space().cache / 2
    let told = try await backend.evict(to: target, dryRun: true)
    let done = try await backend.evict(to: target, dryRun: false)
    #expect(store.applied.withLock { $0.count } > before + 3, "it was one slice")
    #expect(told.queries.count > 2)
    return (told, done, try backend.space().cache)
  }

  @Test func `However slices fall, an eviction takes what its dry run says`() async throws {
    for extra in [
      { _ in (0, 0) }, { (10_000 + 5000 * $0, 0) }, { (0, max(0, 2_000_000 - 500_000 * $0)) },
    ] as [@Sendable (Int) -> (own: Int, shared: Int)] {
      let (told, done, left) = try await Self.halve(extra)
      #expect(done.queries.map(\.path) == told.queries.map(\.path))
      #expect(done.after == left && done.isMet)
    }
    let own = try await Self.halve { (5_000_000 * ($0 + 1), 0) }
    #expect(abs(own.told.after - own.done.after) < 1000, "the store's own counts as the cache's")
  }

  @Test func `An eviction goes on while what is stored takes more than asked`() async throws {
    let (told, done, left) = try await Self.halve { (0, 40_000 * $0) }
    #expect(done.queries.map(\.path).starts(with: told.queries.map(\.path)))
    #expect(done.queries.count > told.queries.count)
    #expect(done.after == left && done.isMet)
  }
}
