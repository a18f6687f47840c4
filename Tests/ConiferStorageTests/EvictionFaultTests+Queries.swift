import ConiferDocument
import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Queries that come, go and are used while an eviction runs.
extension EvictionFaultTests {
  @Test func `Too many queries that are pinned are looked at once, not after each commit`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    func save(_ numbers: Range<Int>, at path: String) {
      _ = engine.group([
        numbers.map { number in
          .saveQuery(
            TrackedQuery(tree: tree, path: Path("\(path)/q\(number)"), lastUse: UInt64(number + 1)))
        }
      ])
      Self.waitUntilIdle(engine)
    }
    _ = engine.group([[.pin(Pin(tree: tree, path: "pinned"))]])
    save(0..<1010, at: "pinned")
    #expect(try Self.queries(store, tree).count == 1010)
    #expect(engine.evictor.stuck != nil)
    // What may go is looked for again when as many came as a run makes room for.
    save(0..<101, at: "free")
    #expect(try Self.queries(store, tree).count == 1010)
  }

  @Test func `A query that is gone does not stay active`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    _ = engine.group([Self.rooms(tree, 0..<2)])
    let known = Activity.Name(tree: tree, query: QueryID(rawValue: 2))
    #expect(engine.activity.setActive(true, Activity.Name(tree: tree, query: QueryID(rawValue: 9))))
    #expect(engine.activity.setActive(true, known))
    _ = engine.group([[.overwrite(tree, "a", 1)]])
    #expect(engine.activity.active == [known])
  }

  @Test func `What a forgotten query left behind a failure is the first to go`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    let large = TrackedQuery(tree: tree, path: "large")
    _ = engine.group([[.overwrite(tree, "large", Self.room(1, leaves: 3800)), .saveQuery(large)]])
    let view = try store.view()
    var run = try Eviction(view, to: 0)
    view.close()
    while run.report.queries.isEmpty { run = try engine.evictor.slice(run) }
    // The run is given up here.
    try #require(!run.isDone)
    let count = try ((1 << 20) - Self.cache(store)) / 16_000 + 2
    _ = engine.group([Self.rooms(tree, 0..<count)])
    Self.waitUntilIdle(engine)
    #expect(try Self.cache(store) <= 1 << 20)
    #expect(try Self.queries(store, tree).count == count)
  }

  @Test func `A query that was used since the run began is passed over`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 50))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    _ = engine.group([Self.rooms(tree, 0..<6)])
    let view = try store.view()
    var run = try Eviction(view, to: Self.cache(store) - 30_000)
    view.close()
    var swept = SweptTrees()
    for _ in 0..<1000 where !run.isDone {
      let before = run.report.queries.count
      let size = try store.size()
      try engine.writer.change(.relaxed) { (tx) throws(StoreError) in
        try run.slice(tx, PhysicalFactor(tx, size), engine.activity, &swept) {
          true
        }
      }
      guard before == 0, run.report.queries.count == 1 else { continue }
      let used = Activity.Name(tree: tree, query: QueryID(rawValue: 2))
      #expect(engine.activity.setActive(true, used) && engine.activity.setActive(false, used))
    }
    #expect(run.report.queries.map(\.path) == ["rooms/r0", "rooms/r2"])
  }

  @Test func `A query becomes active or goes, not both`() {
    let activity = Activity(after: 0)
    let name = Activity.Name(tree: TreeID(rawValue: 1), query: QueryID(rawValue: 1))
    #expect(activity.setActive(true, name) && !activity.beginEviction(of: name))
    #expect(activity.setActive(false, name) && activity.beginEviction(of: name))
    #expect(!activity.setActive(true, name) && !activity.isActive(name))
    activity.endEvictions(isCommitted: false)
    #expect(activity.uses == [name: 2])
    #expect(activity.beginEviction(of: name))
    activity.endEvictions(isCommitted: true)
    #expect(activity.uses.isEmpty && activity.setActive(true, name))
  }
}
