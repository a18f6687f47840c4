import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// A record of the queue, the pins or the queries that is gone without a trace is told after the next opening.
@Suite struct VanishedRecordTests {
  private static let tree = TreeID(rawValue: 1)
  private static let lane = Lane(tree: tree, identity: "ann")

  /// A small store, with records in every space that is looked at.
  private static func small() async throws -> MemoryStore {
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    _ = try await backend.tree(named: "main")
    let receipt = try await backend.commit([
      .overwrite(tree, "rooms/r1", DamageTests.room(1)),
      .saveQuery(TrackedQuery(tree: tree, path: "rooms/r1", isComplete: true)),
      .saveQuery(TrackedQuery(tree: tree, path: "rooms", parameters: "{\"l\":2}")),
      .pin(Pin(tree: tree, path: "rooms/r1")), .pin(Pin(tree: tree, path: "rooms/r2")),
      .enqueue(lane, .set("big", Node(.string(String(repeating: "a", count: 20_000))))),
      .enqueue(lane, .set("rooms/r1/m1", 1)), .enqueue(lane, .set("rooms/r1/m2", 2)),
      .finish(lane, WriteID(rawValue: 2), .acknowledged),
    ])
    try await backend.commit([.setTrackedKeys(tree, receipt.queries[1], ["r1", "r2"])])
    return store
  }

  /// A store with a queue that an opening does not look at.
  private static func large() async throws -> MemoryStore {
    let store = MemoryStore()
    let backend = try open(store)
    _ = try await backend.tree(named: "main")
    let text = Node(.string(String(repeating: "text ", count: 40)))
    try await backend.commit((0..<1000).map { .enqueue(lane, .set(Path("w\($0)"), text)) })
    return store
  }

  private static func open(
    _ store: MemoryStore, _ role: StoreRole = .cache
  ) throws -> MemoryBackend {
    try MemoryBackend(store, name: "memory", options: StorageOptions(role: role))
  }

  private static func incidents(_ backend: MemoryBackend) throws -> [Incident] {
    try backend.read { (view) throws(StoreError) in try view.incidents() }
  }

  private static let spaces = RecordGroup.allCases.flatMap(\.spaces)

  @Test(arguments: [StoreRole.cache, .authority])
  func `Whatever is gone is told when the store opens`(role: StoreRole) async throws {
    let original = try await Self.small()
    var seen: Set<UInt8> = []
    for record in try DamageTests.records(original) where Self.spaces.contains(record.space) {
      let place = "space \(record.space.id), key \(Damage.hex(record.key))"
      seen.insert(record.space.id)
      let store = try DamageTests.copy(original)
      var batch = Batch()
      batch.delete(record.space, record.key)
      _ = try store.apply(batch, .relaxed)

      let backend = try Self.open(store, role)
      let told = try Self.incidents(backend)
      // What belonged to it is set aside too.
      let isOfWrite = [Spaces.queue, Spaces.queueParts].contains(record.space)
      #expect(
        told.contains { $0.kind == (isOfWrite ? .writeSetAside : .recordSetAside) },
        "\(told), \(place)")
      #expect(told.contains { $0.place.contains("are gone") }, "\(told), \(place)")
      try backend.finishMending()
      let report = try backend.verify()
      #expect(report.isSound, "\(report.findings), \(place)")
      let receipt = try await backend.commit([.enqueue(Self.lane, .set("new", 1))])
      #expect(receipt.writes.allSatisfy { $0.rawValue > 3 }, "\(receipt.writes), \(place)")
      let again = try Self.open(try DamageTests.copy(store), role)
      #expect(try Self.incidents(again) == told, "\(place)")
    }
    let spaces = [
      Spaces.queue, Spaces.queueParts, Spaces.queueIndex, Spaces.finished, Spaces.pins,
      Spaces.queries, Spaces.queryIndex, Spaces.queryKeys,
    ]
    #expect(seen == Set(spaces.map(\.id)))
  }

  @Test func `A record that is not counted is told too`() async throws {
    let store = try await Self.small()
    let key = StoreKey.prefix(Self.tree) + [9, 9, 9]
    var batch = Batch()
    batch.put(Spaces.pins, key, Record.seal(Spaces.pins, key, []))
    _ = try store.apply(batch, .relaxed)
    let told = try Self.incidents(try Self.open(store))
    #expect(told.contains { $0.place.contains("more than are counted") }, "\(told)")
  }

  @Test func `What is gone in one space is not made up for by another one`() async throws {
    let store = try await Self.small()
    let key = try #require(try store.keys(Spaces.queryIndex).first)
    let size = try store.view().value(Spaces.queryIndex, key)?.count ?? 0
    let other = StoreKey.prefix(Self.tree) + Bytes(repeating: 9, count: key.count - 4)
    var batch = Batch()
    batch.delete(Spaces.queryIndex, key)
    batch.put(Spaces.queryKeys, other, Bytes(repeating: 0, count: size))
    _ = try store.apply(batch, .relaxed)
    let told = try Self.incidents(try Self.open(store))
    #expect(told.contains { $0.place.contains("gone, and there are") }, "\(told)")
  }

  @Test(arguments: [StoreRole.cache, .authority])
  func `Each loss is told once, also one like another, and no number of a write comes again`(
    role: StoreRole
  ) async throws {
    var store = try await Self.small()
    var numbers: Set<UInt64> = [1, 2, 3]
    for round in 1...4 {
      let lost = try DamageTests.copy(store)
      var batch = Batch()
      for space in RecordGroup.queue.spaces {
        for key in try lost.keys(space) { batch.delete(space, key) }
      }
      _ = try lost.apply(batch, .relaxed)
      let backend = try Self.open(lost, role)
      try backend.finishMending()
      let told = try Self.incidents(backend).filter { $0.kind == .writeSetAside }
      #expect(told.count == round, "\(told)")
      let receipt = try await backend.commit([.enqueue(Self.lane, .set("new", 1))])
      for id in receipt.writes { #expect(numbers.insert(id.rawValue).inserted, "\(id)") }
      let again = try Self.open(try DamageTests.copy(lost), role)
      #expect(try Self.incidents(again).filter { $0.kind == .writeSetAside }.count == round)
      store = lost
    }
  }

  @Test func `Parts of any number of writes are kept when these are gone`() async throws {
    let store = MemoryStore()
    let filled = try Self.open(store)
    _ = try await filled.tree(named: "main")
    let text = Node(.string(String(repeating: "text ", count: 2000)))
    try await filled.commit((0..<300).map { .enqueue(Self.lane, .set(Path("w\($0)"), text)) })
    let lost = try DamageTests.copy(store)
    let parts = try lost.keys(Spaces.queueParts)
    var batch = Batch()
    for key in try lost.keys(Spaces.queue) { batch.delete(Spaces.queue, key) }
    _ = try lost.apply(batch, .relaxed)
    let backend = try Self.open(lost)
    // A step is done also in no time.
    var slices = 0
    while try await backend.tidy(.zero) {
      slices += 1
      try #require(slices < 100_000)
    }
    try backend.finishMending()
    let told = try Self.incidents(backend)
    #expect(parts.count == 300)
    #expect(told.count { $0.place.hasPrefix("parts of write") && !$0.bytes.isEmpty } == 300)
    #expect(told.contains { $0.place.contains("are gone") })
    #expect(try backend.verify().isSound && lost.keys(Spaces.queueParts).isEmpty)
  }

  @Test(arguments: [StoreRole.cache, .authority])
  func `Counts that are gone are told`(role: StoreRole) async throws {
    let store = try await Self.small()
    var batch = Batch()
    batch.delete(Spaces.usage, StoreKey.prefix(Self.tree))
    _ = try store.apply(batch, .relaxed)
    let backend = try Self.open(store, role)
    #expect(try Self.incidents(backend).map(\.tree) == [Self.tree])
    try backend.finishMending()
    #expect(try backend.verify().isSound)
  }

  @Test func `A large tree keeps no small one behind it from being looked at`() async throws {
    let filled = try await Self.large()
    let backend = try Self.open(filled)
    let small = try await backend.tree(named: "small")
    try await backend.commit([.pin(Pin(tree: small, path: "a"))])
    let store = try DamageTests.copy(filled)
    var batch = Batch()
    for key in try store.keys(Spaces.pins) { batch.delete(Spaces.pins, key) }
    _ = try store.apply(batch, .relaxed)
    #expect(try Self.incidents(try Self.open(store)).map(\.tree) == [small])
  }

  @Test func `Where nothing is gone nothing is told, and nothing is written`() async throws {
    let store = ProbeStore(try DamageTests.copy(try await Self.large()))
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let applied = store.applied.withLock { $0.count }
    let engine = backend.engine
    var slices = 0
    while engine.vanished.hasWork {
      engine.vanished.slice()
      slices += 1
    }
    #expect(slices > 5)
    #expect(store.applied.withLock { $0.count } == applied)
    #expect(try backend.read { (view) throws(StoreError) in try view.incidents() }.isEmpty)
  }

  @Test func `Of a large queue housekeeping tells it, while commits go on`() async throws {
    let filled = try await Self.large()
    for isGone in [true, false] {
      let store = try DamageTests.copy(filled)
      if isGone {
        var batch = Batch()
        batch.delete(Spaces.queue, try #require(try store.keys(Spaces.queue).dropFirst(700).first))
        _ = try store.apply(batch, .relaxed)
      }
      let engine = PackedEngine(store, StorageOptions(), Activity(after: 0))
      try engine.open(isNew: false)
      func told() throws -> Int {
        let view = try store.view()
        defer { view.close() }
        return try Incidents.all(view).count
      }
      #expect(try told() == 0 && engine.vanished.hasWork)
      var slices = 0
      while engine.vanished.hasWork {
        engine.vanished.slice()
        slices += 1
        // What comes meanwhile is in neither count.
        let edit = StorageEdit.enqueue(Self.lane, .set(Path("new\(slices)"), 1))
        #expect(engine.group([[edit]], .relaxed).map(\.code) == [nil])
      }
      #expect(slices > 5)
      #expect(try told() == (isGone ? 1 : 0))
      engine.stop()
    }
  }

  @Test func `A look that commits outgrow begins anew, three times at most`() async throws {
    let store = try DamageTests.copy(try await Self.large())
    let engine = PackedEngine(store, StorageOptions(), Activity(after: 0))
    try engine.open(isNew: false)
    engine.vanished.slice()
    let isBegun = engine.vanished.holdsView
    var change = StoreChange(effects: CommitEffects())
    change.bytes = 2 << 20
    for attempt in 1...3 {
      #expect(engine.vanished.hasWork, "attempt \(attempt)")
      if !engine.vanished.holdsView { engine.vanished.slice() }
      #expect(engine.vanished.holdsView, "attempt \(attempt)")
      engine.vanished.didChange(change)
      #expect(!engine.vanished.holdsView, "attempt \(attempt)")
    }
    // The tree is left to the next opening, and no other one is there.
    #expect(isBegun && engine.vanished.hasWork)
    engine.vanished.slice()
    #expect(!engine.vanished.hasWork && !engine.vanished.holdsView)
    engine.stop()
  }

  @Test func `Of many trees housekeeping looks at the later ones`() async throws {
    let filled = MemoryStore()
    let backend = try Self.open(filled)
    for number in 1...40 {
      let tree = try await backend.tree(named: "tree \(number)")
      try await backend.commit([.pin(Pin(tree: tree, path: "a"))])
    }
    let store = try DamageTests.copy(filled)
    var batch = Batch()
    for tree in [3, 33] {
      let prefix = StoreKey.prefix(TreeID(rawValue: UInt32(tree)))
      let keys = try store.keys(Spaces.pins).filter { $0.starts(with: prefix) }
      for key in keys { batch.delete(Spaces.pins, key) }
    }
    _ = try store.apply(batch, .relaxed)
    let opened = try Self.open(store)
    #expect(try Self.incidents(opened).map(\.tree.rawValue) == [3])
    while try await opened.tidy(.seconds(1)) {}
    #expect(try Self.incidents(opened).map(\.tree.rawValue) == [3, 33])
    #expect(try opened.verify().isSound)
  }

  @Test func `A tree that is to be mended is not told of`() async throws {
    let store = try await Self.small()
    var batch = Batch()
    for key in try store.keys(Spaces.pins) { batch.delete(Spaces.pins, key) }
    let marker = SystemKey.mending(Self.tree).bytes
    batch.put(Spaces.system, marker, Record.seal(Spaces.system, marker, []))
    _ = try store.apply(batch, .relaxed)
    #expect(try Self.incidents(try Self.open(store)).isEmpty)
  }
}
