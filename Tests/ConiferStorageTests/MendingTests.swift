import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What a loss leaves to be done takes little at a time, whatever the size of the store, and commits go
/// on between.
@Suite struct MendingTests {
  private let tree = TreeID(rawValue: 1)
  /// What a slice may be lent beside the records that it looks at.
  private let slack = 40

  /// A store with some thousand records, and its engine.
  private func filled() async throws -> (ProbeStore, PackedEngine) {
    let store = ProbeStore(bestValueSize: 1024)
    let backend = try PackedBackend(
      store, name: "probe", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    for room in 0..<8 {
      let children = (0..<1500).map { number in
        let text = "message \(number) of room \(room), and some words that make it longer"
        return (Key("m\(number)"), Node(.string(text)))
      }
      try await backend.commit([
        .overwrite(tree, Path("rooms/r\(room)"), Node(children: children)),
        .saveQuery(TrackedQuery(tree: tree, path: Path("rooms/r\(room)"), isComplete: true)),
      ])
    }
    let lane = Lane(tree: tree, identity: "ann")
    try await backend.commit((0..<600).map { .enqueue(lane, .set(Path("rooms/r1/w\($0)"), 1)) })
    try await backend.commit([.overwrite(tree, "rooms/r1/m7", "changed")])
    let copy = ProbeStore(try DamageTests.copy(store.base), bestValueSize: 1024)
    #expect(try copy.base.keys(Spaces.runs).count > 600)
    let engine = PackedEngine(copy, StorageOptions(compression: .none), Activity(after: 0))
    return (copy, engine)
  }

  private func mend(_ engine: PackedEngine, _ store: ProbeStore) throws {
    var slices = 0
    while engine.mender.hasWork {
      let records = store.counting { engine.mender.slice() }
      // A row of the queue's index asks for its write, and a removal for what it removes.
      #expect(records <= 3 * SpaceScan.mostRecords + slack)
      slices += 1
      let edit = StorageEdit.overwrite(tree, Path("rooms/r2/n\(slices)"), "between")
      #expect(engine.group([[edit]]).allSatisfy { $0.code == nil })
    }
    #expect(slices > 5)
  }

  @Test func `A lost usage row is counted anew in slices`() async throws {
    let (store, engine) = try await filled()
    let numbers = try store.base.numbers(tree)
    try store.base.damage(Spaces.usage, StoreKey.prefix(tree))
    let records = try store.counting {
      try engine.repairer.repair(
        StoreError.Place(space: Spaces.usage.id, key: StoreKey.prefix(tree)))
    }
    #expect(records < slack)
    try mend(engine, store)
    try expectExactUsage(store.base, "after the mending")
    let all = try store.base.numbers(tree)
    #expect(Set(all).count == all.count && all.count >= numbers.count)
  }

  @Test func `A disk that does not answer is no lost usage row`() async throws {
    let (store, engine) = try await filled()
    let row = StoreError.Place(space: Spaces.usage.id, key: StoreKey.prefix(tree))
    store.unreadable.withLock { $0 = row }
    let result = Result { () throws(StoreError) in
      try engine.repairer.change(.relaxed) { (repair) throws(StoreError) in
        try repair.loseUsage(tree)
      }
    }
    #expect(result.code == .io)
    #expect(!engine.mender.hasWork)
    try expectExactUsage(store.base, "after the failure")
  }

  @Test func `Mending goes on when the store cannot be suspended`() async throws {
    let (store, engine) = try await filled()
    try engine.writer.change(.relaxed) { (tx) throws(StoreError) in try MendingMarker.add(tx, tree)
    }
    engine.mender.slice()
    store.keepsOpen.withLock { $0 = true }
    #expect(Result { () throws(StoreError) in try engine.suspend() }.code == .io)
    #expect(engine.mender.hasWork)
    #expect(engine.leaves.generations.stable != nil)
    try mend(engine, store)
    try expectExactUsage(store.base, "after the mending")
  }

  @Test func `A store that cannot be resumed stays suspended, and is resumed later`() async throws {
    let (store, engine) = try await filled()
    try engine.suspend()
    store.unreadable.withLock {
      $0 = StoreError.Place(space: Spaces.system.id, key: SystemKey.clock.bytes)
    }
    #expect(Result { () throws(StoreError) in try engine.resume() }.code == .io)
    #expect(Result { () throws(StoreError) in try store.base.view() }.code == .suspended)
    #expect(engine.leaves.generations.stable == nil)
    try engine.resume()
    #expect(engine.leaves.generations.stable != nil)
    try expectExactUsage(store.base, "after the resuming")
  }

  @Test func `Damage that a slice meets is repaired, and mending goes on`() async throws {
    let (store, engine) = try await filled()
    try engine.writer.change(.relaxed) { (tx) throws(StoreError) in try MendingMarker.add(tx, tree)
    }
    engine.mender.slice()
    // No commit comes that would meet it first.
    try store.base.damage(Spaces.usage, StoreKey.prefix(tree))
    for _ in 0..<10_000 where engine.mender.hasWork { engine.mender.slice() }
    #expect(!engine.mender.hasWork)
    let isNoted = try MendingMarker.isThere(try store.base.view(), tree)
    #expect(!isNoted, "the tree is left as it is")
    try expectExactUsage(store.base, "after the mending")
  }

  @Test func `Damage that stays ends the mending`() async throws {
    let (store, engine) = try await filled()
    try engine.writer.change(.relaxed) { (tx) throws(StoreError) in try MendingMarker.add(tx, tree)
    }
    engine.mender.slice()
    // The registry cannot be repaired.
    for key in try store.base.keys(Spaces.system) where key.count > 4 && key[4] == UInt8(ascii: "t")
    {
      try store.base.damage(Spaces.system, key)
    }
    for _ in 0..<10_000 where engine.mender.hasWork { engine.mender.slice() }
    #expect(!engine.mender.hasWork)
    #expect(try MendingMarker.isThere(try store.base.view(), tree))
  }

  @Test func `Many damaged runs are dropped together, and their deltas go in slices`() async throws
  {
    let (store, engine) = try await filled()
    let runs = try store.base.keys(Spaces.runs)
    for key in runs[100..<300] { try store.base.damage(Spaces.runs, key) }
    var repairs = 0
    for key in runs[100..<300] where try store.base.view().value(Spaces.runs, key) != nil {
      repairs += 1
      let records = try store.counting {
        try engine.repairer.repair(StoreError.Place(space: Spaces.runs.id, key: key))
      }
      #expect(records < 1000)
    }
    #expect(repairs < 6)
    try mend(engine, store)
    try expectExactUsage(store.base, "after the mending")
    let reopened = try PackedBackend(
      store, name: "probe", options: StorageOptions(compression: .none))
    #expect(try reopened.verify().isSound)
  }

  @Test func `A damaged write is set aside without a look at the others`() async throws {
    let (store, engine) = try await filled()
    let key = try #require(try store.base.keys(Spaces.queue).dropFirst(300).first)
    try store.base.damage(Spaces.queue, key)
    let records = try store.counting {
      try engine.repairer.repair(StoreError.Place(space: Spaces.queue.id, key: key))
    }
    #expect(records < slack)
    try mend(engine, store)
    let lane = Lane(tree: tree, identity: "ann")
    let totals = try QueueReader(
      try store.view(), lane, .realtimeDatabase, Codec(level: nil)
    ).totals()
    #expect(totals.pending == 599)
    try expectExactUsage(store.base, "after the mending")
    #expect(
      try PackedBackend(store, name: "probe", options: StorageOptions()).verify().isSound)
  }

  @Test func `What a crash cut off is mended after the next opening`() async throws {
    let (store, engine) = try await filled()
    try store.base.damage(Spaces.usage, StoreKey.prefix(tree))
    try engine.repairer.repair(StoreError.Place(space: Spaces.usage.id, key: StoreKey.prefix(tree)))
    engine.mender.slice()
    let copy = try DamageTests.copy(store.base)
    let backend = try MemoryBackend(copy, name: "memory", options: StorageOptions())
    try await backend.commit([.overwrite(tree, "x", 1)])
    try backend.finishMending()
    try expectExactUsage(copy, "after the next opening")
    #expect(try backend.verify().isSound)
  }

  @Test func `A tree is wiped, and a lane purged, by ranges`() async throws {
    let (store, engine) = try await filled()
    #expect(engine.group([[.purge(Lane(tree: tree, identity: "ann"))]])[0].code == nil)
    #expect(engine.group([[.wipe(tree)]])[0].code == nil)
    let applied = store.applied.withLock { $0.suffix(1).map(\.edits) }
    #expect(applied.allSatisfy { $0 < 40 }, "\(applied)")
    #expect(try DamageTests.records(store.base).allSatisfy { StoreKey.tree($0.key) != tree })
    #expect(try PackedBackend(store, name: "probe", options: StorageOptions()).verify().isSound)
  }

  @Test func `What is put behind a clear in one commit stays`() throws {
    let base = MemoryStore()
    var batch = Batch()
    let keys = (UInt8(0)..<40).map { StoreKey.prefix(tree) + [$0 / 8, $0] }
    for key in keys {
      batch.put(Spaces.metadata, key, Record.seal(Spaces.metadata, key, [1]))
    }
    _ = try base.apply(batch, .relaxed)
    let tx = try LeafStore(base, .standard).transaction()
    tx.setUsage(tree, try Recount.whole(tx, tree))
    let prefix = { (byte: UInt8) in StoreKey.prefix(tree) + [byte] }
    for byte in [1, 3, 2] as [UInt8] { try tx.deleteAll(Spaces.metadata, prefix: prefix(byte)) }
    try tx.put(Spaces.metadata, keys[17], payload: [2])
    let left = keys.filter { !(1...3).contains($0[4]) || $0 == keys[17] }
    #expect(try tx.keys(Spaces.metadata, prefix: []) == left)
    for key in keys {
      #expect(try (tx.value(Spaces.metadata, key) != nil) == left.contains(key))
      var seen: Bytes?
      try tx.walk(Spaces.metadata, .atOrBefore(key)) { key, _ in
        seen = Bytes(key)
        return .stop
      }
      #expect(seen == left.last { !bytesPrecede(key, $0) })
    }
    try tx.writeUsage()
    _ = try base.apply(tx.batch(), .relaxed)
    #expect(try base.keys(Spaces.metadata) == left)
    #expect(try UsageRow.read(try base.view(), tree) == Recount.whole(try base.view(), tree))
  }

  @Test func `Reports are bounded, but those of writes; one costs a write`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, StorageOptions(), Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    for number in 0..<600 {
      let kind: Incident.Kind = number % 3 == 0 ? .writeSetAside : .cacheRangeDropped
      let records = store.counting {
        _ = engine.group([
          [.report(Incident(kind: kind, tree: tree, place: "\(number)", bytes: [1]))]
        ])
      }
      #expect(records < slack)
      // The report, the usage and the commit's number, and a removed report.
      #expect(store.applied.withLock { $0.last?.edits ?? 0 } <= 4)
    }
    let incidents = try Incidents.all(try store.view())
    #expect(incidents.count { $0.kind == .writeSetAside } == 200)
    let others = incidents.filter { $0.kind != .writeSetAside }
    #expect(others.count == Incidents.maximumReports && others.last?.place == "599")
  }
}

extension MemoryStore {
  /// The numbers of a tree's runs.
  func numbers(_ tree: TreeID) throws -> [UInt64] {
    try view().entries(Spaces.runs, prefix: StoreKey.prefix(tree))
      .map { try RunHead(storeKey: $0.key, value: $0.value).number }
  }
}
