import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Stored numbers at the ends of their ranges: the next one is an error, never a trap and never one that
/// was given; and what a repair leaves can be copied.
@Suite struct NumberTests {
  private let tree = TreeID(rawValue: 1)
  private var lane: Lane { Lane(tree: tree, identity: "ann") }

  private func put(_ store: MemoryStore, _ space: Space, _ key: Bytes, _ payload: Bytes) throws {
    var batch = Batch()
    batch.put(space, key, Record.seal(space, key, payload))
    _ = try store.apply(batch, .relaxed)
  }

  private func totals(_ newest: UInt64, _ store: MemoryStore) throws {
    let reader = try QueueReader(try store.view(), lane, .realtimeDatabase, Codec(level: 5))
    var totals = try reader.totals()
    totals.newest = newest
    try put(store, Spaces.queue, reader.totalsKey, totals.payload)
  }

  @Test(arguments: [
    0, 1, 4, 5, Numbers.lastWrite, Numbers.lastWrite + 1, 1 << 59, 1 << 60 - 1, .max,
  ])
  func `A queue whose last number is forged gives an error, or goes on, and can be copied`(
    newest: UInt64
  ) async throws {
    let store = try await DamageTests.filled()
    try totals(newest, store)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    do throws(StoreError) {
      let receipt = try await backend.commit([.enqueue(lane, .set("x", 1))])
      #expect(receipt.writes.allSatisfy { (7...Numbers.lastWrite).contains($0.rawValue) })
    } catch {
      #expect(error.code == .tooLarge && newest == Numbers.lastWrite, "\(error)")
    }
    let copy = try MemoryBackend(MemoryStore(), name: "memory", options: StorageOptions())
    try await StoreCopier(source: backend, target: copy, reached: { _ in }).run(
      from: CopyPosition())
    let (old, new) = (try queue(backend), try queue(copy))
    #expect(old == new && new.count >= 4)
  }

  private func queue(_ backend: MemoryBackend) throws -> [QueuedWrite] {
    try backend.read { (view) throws(StoreError) in
      try view.writes(lane, after: nil, limit: 99)
    }
  }

  @Test(arguments: [0, 1 << 56, 1 << 59, 1 << 60, .max] as [UInt64])
  func `A write under a number out of bounds is set aside, and the rest can be copied`(
    number: UInt64
  ) async throws {
    let store = try await DamageTests.filled()
    let reader = try QueueReader(try store.view(), lane, .realtimeDatabase, Codec(level: 5))
    let payload = Bytes(
      try #require(
        try store.view().value(Spaces.queue, reader.key(.unanswered, WriteID(rawValue: 3)))
      )
      .dropFirst(Record.overhead))
    try put(store, Spaces.queue, reader.key(.unanswered, WriteID(rawValue: number)), payload)
    // The numbers must be found anew as well.
    try store.damage(Spaces.queue, reader.totalsKey)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let receipt = try await backend.commit([.enqueue(lane, .set("x", 1))])
    #expect(receipt.writes.allSatisfy { (7...Numbers.lastWrite).contains($0.rawValue) })
    #expect(try queue(backend).count == 5)
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(incidents.count { $0.kind == .writeSetAside && !$0.bytes.isEmpty } == 1)
    let copy = try MemoryBackend(MemoryStore(), name: "memory", options: StorageOptions())
    try await StoreCopier(source: backend, target: copy, reached: { _ in }).run(
      from: CopyPosition())
    #expect(try queue(copy) == queue(backend))
    try backend.finishMending()
    #expect(try backend.verify().isSound)
  }

  @Test(arguments: [Numbers.lastQuery, Numbers.lastQuery + 1, .max])
  func `The number of a query after the last one is an error`(last: UInt64) async throws {
    let store = try await DamageTests.filled()
    try put(store, Spaces.queries, StoreKey.prefix(tree) + [0xFF], StoreKey.number(last))
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    do throws(StoreError) {
      let receipt = try await backend.commit([.saveQuery(TrackedQuery(tree: tree, path: "x"))])
      #expect(last > Numbers.lastQuery)
      #expect(receipt.queries.allSatisfy { (9...Numbers.lastQuery).contains($0.rawValue) })
    } catch {
      #expect(error.code == .tooLarge && last == Numbers.lastQuery, "\(error)")
    }
  }

  @Test(arguments: [1 << 62 - 2, 1 << 62 - 1, 1 << 62, 1 << 63, .max - 1, .max] as [UInt64])
  func `Reports are added beside one with the last number, and replace none`(
    number: UInt64
  ) async throws {
    let store = try await DamageTests.filled()
    var writer = ByteWriter([number < 1 << 62 ? 1 : 3])
    writer.sized("forged")
    try put(
      store, Spaces.incidents, StoreKey.prefix(tree) + StoreKey.number(number), writer.bytes)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let kinds = [Incident.Kind.cacheRangeDropped, .writeSetAside]
    for round in 0..<4 {
      for kind in kinds {
        let incident = Incident(kind: kind, tree: tree, place: "added \(round)", bytes: [1])
        try await backend.commit([.report(incident)])
      }
      let all = try backend.read { (view) throws(StoreError) in try view.incidents() }
      #expect(all.count { $0.place == "forged" } == 1)
      for kind in kinds {
        let added = all.filter { $0.kind == kind && $0.place != "forged" }.map(\.place)
        #expect(added == (0...round).map { "added \($0)" })
      }
    }
    // Those of writes never go, whatever comes.
    for _ in 0...Incidents.maximumReports {
      try await backend.commit([
        .report(Incident(kind: .cacheRangeDropped, tree: tree, place: "more", bytes: []))
      ])
    }
    let all = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(all.count { $0.kind == .writeSetAside } == (number < 1 << 62 ? 4 : 5))
    #expect(all.count { $0.kind == .cacheRangeDropped } <= Incidents.maximumReports)
  }

  @Test func `Behind the last number of a delta the run is written anew`() async throws {
    let store = try await DamageTests.filled()
    do {
      let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
      try await backend.commit([.overwrite(tree, "rooms/r1/m8/text", "old")])
    }
    // What is changed behind it must not lie below it.
    let delta = try #require(try store.keys(Spaces.deltas).last)
    let payload = Bytes(
      try #require(try store.view().value(Spaces.deltas, delta)).dropFirst(Record.overhead))
    var batch = Batch()
    batch.delete(Spaces.deltas, delta)
    _ = try store.apply(batch, .relaxed)
    try put(store, Spaces.deltas, delta.dropLast(4) + [0xFF, 0xFF, 0xFF, 0xFF], payload)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    #expect(try backend.node(tree, "rooms/r1/m8/text") == "old")
    for number in 0..<3 {
      try await backend.commit([.overwrite(tree, "rooms/r1/m8/text", Node(.integer(Int64(number))))]
      )
      #expect(try backend.node(tree, "rooms/r1/m8/text") == Node(.integer(Int64(number))))
      #expect(try backend.node(tree, "rooms/r1/m7/text") == "changed")
    }
  }

  @Test func `A tree whose runs have had all numbers takes no more, in words`() async throws {
    let store = try await DamageTests.filled()
    var row = try UsageRow.read(try store.view(), tree)
    row.nextRun = Numbers.lastRun + 1
    try put(store, Spaces.usage, StoreKey.prefix(tree), row.payload)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let error = await #expect(throws: StoreError.self) {
      let large = String(repeating: "large ", count: 60_000)
      try await backend.commit([.overwrite(tree, "new/large", Node(.string(large)))])
    }
    #expect(error?.code == .tooLarge)
    #expect(try backend.node(tree, "rooms/r0") == DamageTests.room(0))
  }

  @Test func `However often numbers of runs are lost, none repeats`() async throws {
    let store = ProbeStore(bestValueSize: 1024)
    let engine = PackedEngine(store, StorageOptions(compression: .none), Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    for round in 0..<16 {
      // Some runs, and a delta of the first of them.
      let node = Node(
        children: (10..<60).map { (Key("m\($0)"), Node(.string("message \($0) and more words"))) })
      let path = Path("r\(100 + round)")
      for (path, node) in [(path, node), (path.appending(Key("m12")), Node(.integer(1)))] {
        #expect(engine.group([[.overwrite(tree, path, node)]])[0].code == nil)
      }
      let numbers = try store.base.numbers(tree)
      #expect(Set(numbers).count == numbers.count, "round \(round)")
      try store.base.damage(Spaces.usage, StoreKey.prefix(tree))
      try engine.repairer.repair(
        StoreError.Place(space: Spaces.usage.id, key: StoreKey.prefix(tree)))
    }
  }

  @Test func `A query that is not tracked does not count as active`() async throws {
    let store = try await DamageTests.filled()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let tracked = try await backend.commit([.saveQuery(TrackedQuery(tree: tree, path: "x"))])
    let id = try #require(tracked.queries.first)
    for name in [QueryID(rawValue: 999), QueryID(rawValue: .max), id] {
      #expect(backend.setActive(true, name, in: tree))
    }
    #expect(backend.setActive(true, id, in: TreeID(rawValue: 7)))
    #expect(backend.engine.activity.active == [Activity.Name(tree: tree, query: id)])
    let tx = try LeafStore(store, .standard).transaction()
    let queries = try UsageRow.read(tx, tree).queries
    #expect(try Eviction.inactive(tx, backend.engine.activity) == queries - 1)
    // One that is removed later ceases to be active.
    try await backend.commit([.removeQuery(tree, id)])
    #expect(backend.engine.activity.active.isEmpty)
  }
}
