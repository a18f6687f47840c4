import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What a cache does about damage, beyond single records: it never takes lost data for known, and
/// never drops what is sound.
@Suite struct RepairTests {
  private let tree = TreeID(rawValue: 1)

  @Test func `A range that was dropped is fetched whole again`() async throws {
    let store = try await DamageTests.filled()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    try await backend.commit([
      .saveQuery(
        TrackedQuery(
          tree: tree, path: "rooms/r1", isComplete: true, isKnownMissing: true,
          resumeToken: [1, 2]))
    ])
    for key in try store.keys(Spaces.runs) { try store.damage(Spaces.runs, key) }
    let (node, own, known) = try backend.read { (view) throws(StoreError) in
      (
        try view.node(tree, "rooms"), try view.trackedQuery(tree, "rooms/r1", "default"),
        try view.knownCompleteChildren(tree, "rooms")
      )
    }
    #expect(node.isEmpty)
    #expect(own?.query.isComplete == false && own?.query.isKnownMissing == false)
    // A token would let the server leave out what was lost.
    #expect(own?.query.resumeToken == [])
    #expect(known.isEmpty)
    try backend.finishMending()
    try expectExactUsage(store, "after the repair")
  }

  @Test func `A second report of the same damage drops nothing`() async throws {
    let store = try await DamageTests.filled()
    let engine = PackedEngine(store, StorageOptions(role: .cache), Activity(after: 0))
    let key = try #require(try store.keys(Spaces.runs).dropFirst().first)
    let write = try #require(try store.keys(Spaces.queue).first)
    let sound = try store.view().value(Spaces.runs, key)
    for (space, key) in [(Spaces.runs, key), (Spaces.queue, write)] {
      // As when two readers met the damage, and the range was fetched before the second's repair.
      try engine.repairer.repair(StoreError.Place(space: space.id, key: key))
    }
    #expect(try store.view().value(Spaces.runs, key) == sound)
    #expect(try Incidents.all(try store.view()).isEmpty)
    try store.damage(Spaces.queue, write)
    for _ in 0..<2 {
      try engine.repairer.repair(StoreError.Place(space: Spaces.queue.id, key: write))
    }
    #expect(try Incidents.all(try store.view()).count == 1)
  }

  @Test func `Two damaged records do not stand in each other's way`() async throws {
    let original = try await DamageTests.filled()
    var some: [(space: Space, key: Bytes)] = []
    for space in Spaces.all where space != Spaces.system {
      let keys = try original.keys(space)
      if let key = keys.first { some.append((space, key)) }
      if [Spaces.runs, Spaces.queue, Spaces.queries].contains(space), let key = keys.last {
        some.append((space, key))
      }
    }
    for (index, one) in some.enumerated() {
      for other in some[(index + 1)...] {
        let store = try DamageTests.copy(original)
        try store.damage(one.space, one.key)
        try store.damage(other.space, other.key)
        let place =
          "\(one.space.id) \(Damage.hex(one.key)), \(other.space.id) "
          + Damage.hex(other.key)
        let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
        let lane = Lane(tree: tree, identity: "ann")
        do throws(StoreError) {
          _ = try backend.read { (view) throws(StoreError) in
            _ = try view.node(tree, .root)
            _ = try view.totals(lane)
            for write in try view.writes(lane, after: nil, limit: 9) { _ = write }
            for write in try view.rejectedWrites(lane, after: nil, limit: 9) { _ = write }
            for stored in try view.trackedQueries(tree, after: nil, limit: 99) {
              _ = try view.trackedKeys(tree, stored.id)
              _ = try view.isComplete(tree, stored.query.path, stored.query.parameters)
            }
            _ = try view.finishedWrite(lane, WriteID(rawValue: 1))
            _ = try view.pins(tree)
            _ = try view.metadata(tree, "cursor")
            _ = try view.usage(nil)
          }
          _ = try await backend.tree(named: "other")
          _ = try await backend.commit([.overwrite(tree, "x/y", 1)])
        } catch { Issue.record("\(place): \(error)") }
        try backend.finishMending()
        try expectExactUsage(store, place)
      }
    }
  }

  @Test func `A damaged run under a long path makes the queries below it incomplete`() async throws
  {
    let store = ProbeStore(bestValueSize: 1024)
    let backend = try PackedBackend(
      store, name: "probe", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    let parent = Path(
      (0..<7).map { Key(String(repeating: "\($0)x", count: 50)) })
    let node = Node(
      children: (100..<160).map { number in
        (
          Key("child \(number)"),
          Node(children: [(Key("text"), Node(.string(String(repeating: "t", count: 60))))])
        )
      })
    var edits: [StorageEdit] = [.overwrite(tree, parent, node)]
    for child in node.children {
      edits.append(
        .saveQuery(TrackedQuery(tree: tree, path: parent.appending(child.key), isComplete: true)))
    }
    try await backend.commit(edits)
    let runs = try store.base.keys(Spaces.runs)
    #expect(runs.count(where: { $0.count == 510 }) > 2)
    for key in runs {
      try store.base.damage(Spaces.runs, key)
      let read = try backend.read { (view) throws(StoreError) in try view.node(tree, parent) }
      for child in node.children where read[child.key].isEmpty {
        let isComplete = try backend.read { (view) throws(StoreError) in
          try view.isComplete(tree, parent.appending(child.key))
        }
        #expect(!isComplete, "\(child.key)")
      }
    }
  }

  @Test func `A lane's totals are right after a damaged finished record`() async throws {
    let store = try await DamageTests.filled()
    let key = try #require(try store.keys(Spaces.finished).first)
    try store.damage(Spaces.finished, key)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let lane = Lane(tree: tree, identity: "ann")
    let finished = try backend.read { (view) throws(StoreError) in
      try view.finishedWrite(lane, WriteID(rawValue: 1))
    }
    #expect(finished == nil)
    let totals = try QueueReader(
      try store.view(), lane, .realtimeDatabase, Codec(level: 5)
    ).totals()
    #expect(totals.finished == 0 && totals.pending == 4 && totals.rejected == 1)
    #expect(totals.newest == 6)
  }

  @Test func `A recount gives no run the number that deltas stand under`() async throws {
    let store = try await DamageTests.filled()
    let delta = try #require(try store.keys(Spaces.deltas).first)
    let number = StoreKey.numberAfterTree(delta)
    // The run of the deltas and all younger ones are lost, and with them the usage.
    for key in try store.keys(Spaces.runs) { try store.damage(Spaces.runs, key) }
    try store.damage(Spaces.usage, StoreKey.prefix(tree))
    let engine = PackedEngine(store, StorageOptions(role: .cache), Activity(after: 0))
    try engine.repairer.repair(StoreError.Place(space: Spaces.usage.id, key: StoreKey.prefix(tree)))
    #expect(try UsageRow.read(try store.view(), tree).nextRun > number)
    try engine.mender.finish()
    #expect(try UsageRow.read(try store.view(), tree).nextRun > number)
  }
}
