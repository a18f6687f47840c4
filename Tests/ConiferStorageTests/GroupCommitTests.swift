import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Commits that meet share a batch; each still succeeds or fails by itself.
@Suite struct GroupCommitTests {
  private func engine(_ store: any OrderedStore, _ role: StoreRole = .cache) throws -> PackedEngine
  {
    let engine = PackedEngine(store, StorageOptions(role: role), Activity(after: 0))
    _ = try engine.writer.change(.power) { (tx) throws(StoreError) in try Trees.writeFormat(tx) }
    return engine
  }

  @Test func `A commit that the store refuses does not fail the others`() throws {
    let store = ProbeStore()
    let engine = try engine(store)
    let tree = try engine.committer.tree("main", .realtimeDatabase, .power)
    let lane = Lane(tree: tree)
    let large = Node(
      children: (0..<2000).map { number in
        (Key("key \(number * 7919 % 2003)"), Node(.string("text \(number) \(number * 31)")))
      })
    store.mostEdits.withLock { $0 = 5 }
    let answers = engine.group([
      [.enqueue(lane, .set("a", 1))],
      [.overwrite(tree, "large", large), .enqueue(lane, .set("large", 1))],
      [.overwrite(tree, "b", 2)],
    ])
    #expect(answers.map(\.code) == [nil, .full, nil])
    let writes = try QueueReader(try store.view(), lane, .realtimeDatabase, engine.leaves.codec)
      .window(.unanswered, after: nil, limit: 9)
    #expect(writes.map(\.payload) == [WriteContent.set("a", 1).payload])
    try expectExactUsage(store.base, "after the group")
  }

  @Test func `A commit that meets an authority's damage does not fail the others`() async throws {
    let store = try await DamageTests.filled()
    for key in try store.keys(Spaces.runs) { try store.damage(Spaces.runs, key) }
    let engine = PackedEngine(store, StorageOptions(role: .authority), Activity(after: 0))
    let tree = TreeID(rawValue: 1)
    let other = try engine.committer.tree("other", .realtimeDatabase, .relaxed)
    let answers = engine.group(
      [
        [.enqueue(Lane(tree: tree), .set("a", 1))],
        [.overwrite(other, "before", 1), .overwrite(tree, "rooms/r1", 1)],
        [.overwrite(other, "b", 2)],
      ], .relaxed)
    #expect(answers.map(\.code) == [nil, .damaged, nil])
  }

  @Test func `A refused commit leaves nothing behind, not in the counts either`() throws {
    let store = ProbeStore()
    let engine = try engine(store)
    let tree = try engine.committer.tree("main", .realtimeDatabase, .power)
    let lane = Lane(tree: tree)
    let text = Node(.string(String(repeating: "text ", count: 100_000)))
    let refused: [StorageEdit] = [
      .overwrite(tree, "a", text), .enqueue(lane, .set("a", text)),
      .saveQuery(TrackedQuery(tree: tree, path: "a", isComplete: true)),
      .finish(lane, WriteID(rawValue: 77), .acknowledged),
    ]
    let answers = engine.group([
      refused, [.overwrite(tree, "b", 1), .enqueue(lane, .set("b", 1))], refused,
      [.overwrite(tree, "c", 1)],
    ])
    #expect(answers.map(\.code) == [.invalid, nil, .invalid, nil])
    let view = try store.view()
    #expect(try view.keys(Spaces.chunks, prefix: []).isEmpty)
    #expect(try view.keys(Spaces.queries, prefix: []).isEmpty)
    #expect(
      try QueueReader(view, lane, .realtimeDatabase, engine.leaves.codec).totals().newest == 1)
    try expectExactUsage(store.base, "after the group")
  }

  @Test func `A commit that changes nothing covers what an earlier process left unsynced`() throws {
    let store = ProbeStore()
    let first = try engine(store)
    let tree = try first.committer.tree("main", .realtimeDatabase, .power)
    _ = first.group([[.overwrite(tree, "a", 1)]], .process)
    // As after the death of the first process: what it wrote may sit in the system's cache.
    let second = PackedEngine(store, StorageOptions(role: .cache), Activity(after: 0))
    store.applied.withLock { $0 = [] }
    #expect(second.group([[.overwrite(tree, "a", 1)]], .power).map(\.code) == [nil])
    #expect(store.applied.withLock { $0.map(\.durability) } == [.power])
    // Now all is covered, and an equal write costs nothing.
    _ = second.group([[.overwrite(tree, "a", 1)]], .power)
    #expect(store.applied.withLock { $0.count } == 1)
  }
}
