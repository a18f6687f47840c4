import ConiferKeyValue
import ConiferTree
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What is swept away is left over when it goes, not only when it was looked for; and nobody who commits
/// does it.
@Suite struct SweepTests {
  private let tree = TreeID(rawValue: 1)
  private var lane: Lane { Lane(tree: tree, identity: "ann") }

  /// An engine on a store of which a record was set aside, with the sweep's view taken.
  private func begun(_ space: Space, _ key: Bytes) async throws -> (MemoryStore, PackedEngine) {
    let store = try await DamageTests.filled()
    let engine = PackedEngine(store, StorageOptions(), Activity(after: 0))
    try store.damage(space, key)
    try engine.repairer.repair(StoreError.Place(space: space.id, key: key))
    engine.mender.slice()
    guard case .underWay(let work) = engine.mender.state, case .sweeping = work.phase else {
      Issue.record("nothing is swept")
      return (store, engine)
    }
    return (store, engine)
  }

  private func sound(_ store: MemoryStore) throws {
    try expectExactUsage(store, "after the mending")
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    #expect(try backend.verify().findings == [])
  }

  @Test func `A query that is tracked again while its row counts as left over is found`()
    async throws
  {
    let query = TrackedQuery(tree: tree, path: "rooms/r1", isComplete: true)
    let original = Queries(
      view: try await DamageTests.filled().view(), tree: tree, order: .realtimeDatabase)
    let lost = try #require(try original.find(query.path, query.parameters))
    let (store, engine) = try await begun(Spaces.queries, original.key(lost.id))
    let new = try engine.group([[.saveQuery(query)]], .relaxed)[0].get().queries[0]
    #expect(new != lost.id)
    try engine.mender.finish()
    let queries = Queries(view: try store.view(), tree: tree, order: .realtimeDatabase)
    #expect(try queries.find(query.path, query.parameters)?.id == new)
    #expect(try engine.group([[.saveQuery(query)]], .relaxed)[0].get().queries == [new])
    try sound(store)
  }

  @Test func `A write that comes back while its parts count as left over is whole`() async throws {
    let (reader, id) = (
      try QueueReader(
        try await DamageTests.filled().view(), lane, .realtimeDatabase, Codec(level: 5)),
      WriteID(rawValue: 6)
    )
    let entry = try #require(try reader.find(id)?.entry)
    let (store, engine) = try await begun(Spaces.queue, reader.key(.unanswered, id))
    #expect(engine.group([[.restore(lane, entry)]], .relaxed)[0].code == nil)
    try engine.mender.finish()
    let after = try QueueReader(try store.view(), lane, .realtimeDatabase, Codec(level: 5))
    #expect(try after.find(id)?.entry == entry)
    try sound(store)
  }

  @Test(
    arguments: [1 << 42 + 9, 3 << 41, Numbers.lastRun - 1, Numbers.lastRun] as [UInt64],
    [true, false])
  func `Changes under a made-up number of a run do not end a cache whose counts are lost`(
    number: UInt64, isSound: Bool
  ) async throws {
    let store = try await DamageTests.filled()
    let known = try #require(
      try store.view().entries(Spaces.deltas, prefix: StoreKey.prefix(tree)).first)
    var key = DeltaRecord.prefix(tree, number)
    key += known.key.dropFirst(key.count)
    var batch = Batch()
    batch.put(
      Spaces.deltas, key,
      isSound
        ? Record.seal(Spaces.deltas, key, Bytes(known.value.dropFirst(Record.overhead)))
        : known.value)
    batch.delete(Spaces.usage, StoreKey.prefix(tree))
    _ = try store.apply(batch, .relaxed)
    let engine = PackedEngine(store, StorageOptions(), Activity(after: 0))
    let rooms = (0..<3).map {
      StorageEdit.overwrite(tree, Path("new/r\($0)"), DamageTests.room($0))
    }
    #expect(engine.group([[rooms[0]]], .relaxed)[0].code == nil)
    try engine.mender.finish()
    #expect(engine.group([[rooms[1]]], .relaxed)[0].code == nil)
    // Once more, behind numbers that were given after a loss.
    try store.damage(Spaces.usage, StoreKey.prefix(tree))
    #expect(engine.group([[rooms[2]]], .relaxed)[0].code == nil)
    try engine.mender.finish()
    let numbers = try store.numbers(tree)
    #expect(Set(numbers).count == numbers.count)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    for room in 0..<3 {
      #expect(try backend.node(tree, Path("new/r\(room)")) == DamageTests.room(room))
    }
    try sound(store)
  }

  @Test func `Who commits mends nothing, and a store that was opened mends without a commit`()
    async throws
  {
    let base = try await DamageTests.filled()
    let engine = PackedEngine(base, StorageOptions(), Activity(after: 0))
    let parts = try base.keys(Spaces.chunks).count
    for key in try base.keys(Spaces.runs) {
      try base.damage(Spaces.runs, key)
      try engine.repairer.repair(StoreError.Place(space: Spaces.runs.id, key: key))
    }
    #expect(try parts > 0 && base.keys(Spaces.chunks).count == parts)
    let sweepers = Mutex<Set<UInt>>([])
    let store = GuardedStore(try DamageTests.copy(base)) { batch in
      for case .delete(let space, _) in batch.edits
      where [Spaces.deltas, Spaces.chunks].contains(space) {
        sweepers.withLock { _ = $0.insert(Platform.thread) }
      }
    }
    let backend = try PackedBackend(store, name: "guarded", options: StorageOptions())
    let tree = tree
    let caller = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        for part in 0..<3 {
          // As much as several slices look at.
          let node = Node(children: (0..<9000).map { (Key("n\($0)"), Node(.string("a \($0)"))) })
          _ = try? backend.commitAndWait([.overwrite(tree, Path("p\(part)"), node)], .relaxed)
        }
        continuation.resume(returning: Platform.thread)
      }
    }
    try backend.finishMending()
    #expect(try store.base.keys(Spaces.chunks).isEmpty)
    #expect(!sweepers.withLock { $0.contains(caller) })
    try await backend.close()

    let other = GuardedStore(base)
    let reader = try PackedBackend(other, name: "guarded", options: StorageOptions())
    for _ in 0..<60_000 where try !base.keys(Spaces.chunks).isEmpty {
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(try base.keys(Spaces.chunks).isEmpty)
    try await reader.close()
  }
}
