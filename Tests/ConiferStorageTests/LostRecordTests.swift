import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Records that are gone, and records under other keys: nothing traps, no number is given again, no
/// queued write goes in silence, and what is lost otherwise is told by `verify`.
@Suite struct LostRecordTests {
  private static let tree = TreeID(rawValue: 1)
  private static let lane = Lane(tree: tree, identity: "ann")
  /// A lane of which only its last number is known.
  private static let other = Lane(tree: tree, identity: "bob")

  /// What a store tells, without what only counts.
  private struct Content: Equatable {
    var nodes: [Node] = []
    var complete: [Bool] = []
    var writes: [QueuedWrite] = []
    var rejected: [QueuedWrite] = []
    var touching: [[WriteID]] = []
    var queries: [StoredQuery] = []
    var keys: [[Key]] = []
    var pins: [Pin] = []
    var metadata: [UInt8]?

    init(_ backend: MemoryBackend) throws {
      let tree = LostRecordTests.tree
      let lane = LostRecordTests.lane
      for path in ["rooms", "large"] as [Path] {
        nodes.append(try backend.node(tree, path))
        complete.append(
          try backend.read { (view) throws(StoreError) in try view.isComplete(tree, path) })
      }
      func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws -> R {
        try backend.read(body)
      }
      writes = try read { (view) throws(StoreError) in
        try view.writes(lane, after: nil, limit: 99)
      }
      rejected = try read { (view) throws(StoreError) in
        try view.rejectedWrites(lane, after: nil, limit: 99)
      }
      touching = try read { (view) throws(StoreError) in
        [
          try view.pendingWrites(lane, touching: "rooms"),
          try view.pendingWrites(lane, touching: "big"),
        ]
      }
      queries = try read { (view) throws(StoreError) in
        try view.trackedQueries(tree, after: nil, limit: 99)
      }
      for query in queries {
        keys.append(
          try read { (view) throws(StoreError) in try view.trackedKeys(tree, query.id) })
      }
      pins = try read { (view) throws(StoreError) in try view.pins(tree) }
      metadata = try read { (view) throws(StoreError) in try view.metadata(tree, "cursor") }
    }
  }

  /// Children that do not compress.
  private static let noise: Node = {
    var random = Seeded(1)
    return Node(
      children: (0..<200).map { number in
        let words = (0..<20).map { _ in String(random.next(), radix: 36) }
        return (Key("n\(number)"), Node(.string(words.joined())))
      })
  }()

  private static func all(_ store: MemoryStore) throws -> Set<UInt64> {
    var numbers: Set<UInt64> = []
    for space in [Spaces.queue, Spaces.finished] {
      for key in try store.keys(space) where key.last != 0xFF {
        numbers.insert(StoreKey.number(atEndOf: key))
      }
    }
    return numbers
  }

  @Test(arguments: [StoreRole.cache, .authority])
  func `Every record may be gone`(role: StoreRole) async throws {
    let original = try await DamageTests.filled()
    // A number that only the row behind all queries tells of.
    let gone = QueryID(rawValue: 1)
    let first = try MemoryBackend(original, name: "memory", options: StorageOptions(role: role))
    try await first.commit([
      .removeQuery(Self.tree, gone),
      .restore(
        Self.other, QueuedWrite(id: WriteID(rawValue: 50), content: .set("rooms", 1))),
    ])
    let expected = try Content(
      try MemoryBackend(
        try DamageTests.copy(original), name: "memory", options: StorageOptions(role: role)))
    for record in try DamageTests.records(original) {
      let place = "space \(record.space.id), key \(Damage.hex(record.key))"
      let store = try DamageTests.copy(original)
      var batch = Batch()
      batch.delete(record.space, record.key)
      _ = try store.apply(batch, .relaxed)
      guard
        let backend = try? MemoryBackend(
          store, name: "memory", options: StorageOptions(role: role))
      else {
        #expect(record.space == Spaces.system, "not opened: \(place)")
        continue
      }
      let isTold = try !backend.verify().isSound
      let content = try? Content(backend)
      if let content, content != expected {
        let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
        #expect(isTold || !incidents.isEmpty, "\(place)")
      }
      #expect(content != nil || isTold, "\(place)")
      let runs = try Set(store.numbers(Self.tree))
      let parts = try Set(store.keys(Spaces.chunks))
      let deltas = try Set(store.keys(Spaces.deltas).map { $0.prefix(12) })
      let known = try Self.all(store)
      let queries = try Set(store.keys(Spaces.queries))
      let large = Node(.string(String(repeating: "other ", count: 60_000)))
      do throws(StoreError) {
        // One write, since a second one may meet what the first one should have; so much data that there
        // are new runs.
        let receipt = try await backend.commit([
          .enqueue(Self.lane, .set("x", 1)), .enqueue(Self.other, .set("x", 1)),
          .saveQuery(TrackedQuery(tree: Self.tree, path: "new", isComplete: true)),
          .overwrite(Self.tree, "new/rooms", DamageTests.room(9)),
          .overwrite(Self.tree, "new/noise", Self.noise),
          .overwrite(Self.tree, "new/large", large),
        ])
        #expect(!known.contains(receipt.writes[0].rawValue), "\(place)")
        #expect(receipt.writes[1].rawValue > 50, "\(place)")
        let read = Queries(
          view: try store.view(), tree: Self.tree, order: .realtimeDatabase)
        #expect(
          receipt.queries.allSatisfy { $0 != gone && !queries.contains(read.key($0)) }
            || record.space == Spaces.queryIndex, "\(place)")
      } catch {
        #expect(
          role == .authority && error.code == .damaged || record.space == Spaces.system,
          "\(place): \(error)")
        continue
      }
      // Nothing of before lies over what is new.
      #expect(try backend.node(Self.tree, "new/rooms") == DamageTests.room(9), "\(place)")
      #expect(try backend.node(Self.tree, "new/large") == large, "\(place)")
      #expect(try backend.node(Self.tree, "new/noise") == Self.noise, "\(place)")
      let new = try store.numbers(Self.tree)
      #expect(Set(new).count == new.count, "\(place)")
      #expect(!Set(new).subtracting(runs).isEmpty, "\(place)")
      for number in Set(new).subtracting(runs) {
        #expect(!deltas.contains(DeltaRecord.prefix(Self.tree, number)[...]), "\(place)")
      }
      #expect(try Set(store.keys(Spaces.chunks)).subtracting(parts).count == 2, "\(place)")
      let after = try backend.read { (view) throws(StoreError) in
        try view.writes(Self.lane, after: nil, limit: 99)
      }
      for write in expected.writes where known.contains(write.id.rawValue) {
        let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
        #expect(
          after.contains(write) || incidents.contains { $0.kind == .writeSetAside }, "\(place)")
      }
      try backend.finishMending()
      try await backend.close()
    }
  }

  @Test func `A tree whose place in the registry is gone is not made again`() async throws {
    let original = try await DamageTests.filled()
    for record in try DamageTests.records(original) where record.space == Spaces.system {
      let store = try DamageTests.copy(original)
      var batch = Batch()
      batch.delete(record.space, record.key)
      _ = try store.apply(batch, .relaxed)
      do throws(StoreError) {
        let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
        #expect(try await backend.tree(named: "main") == Self.tree, "\(record.key)")
        #expect(try await backend.tree(named: "other") != Self.tree, "\(record.key)")
      } catch {
        #expect([.damaged, .foreign].contains(error.code), "\(error)")
      }
    }
  }

  @Test(arguments: [1] as [UInt64])
  func `Every kind of record may stand under another key`(seed: UInt64) async throws {
    var random = Seeded(seed)
    let original = try await DamageTests.filled()
    let records = try DamageTests.records(original)
    for record in records {
      let place = "seed \(seed), space \(record.space.id), key \(Damage.hex(record.key))"
      let payload = Bytes(record.value.dropFirst(Record.overhead))
      let end = record.key.count
      var keys: [Bytes] = [
        Bytes(record.key.prefix(max(4, end - 8))) + Bytes(repeating: 0xFF, count: 8),
        Bytes(record.key.prefix(max(4, end - 8))) + Bytes(repeating: 0, count: 8),
        Bytes(record.key.prefix(max(4, end - 8))) + [0, 0xFF] + Bytes(repeating: 0xFF, count: 6),
        Bytes(record.key.prefix(max(4, end - 8))) + [0x7F] + Bytes(repeating: 0xFF, count: 7),
        Bytes(record.key.prefix(4 + random.below(max(1, end - 4)))), record.key + [0],
        Bytes(record.key.prefix(4)), Bytes(record.key.prefix(2)),
        [0, 0, 0, 2] + record.key.dropFirst(4),
        Bytes(record.key.prefix(4)) + Bytes(repeating: 0xFF, count: 40),
      ]
      if end >= 12 {
        keys.append(
          record.key.prefix(4) + Bytes(repeating: 0xFF, count: 8) + record.key.dropFirst(12))
        keys.append(
          record.key.dropLast(4) + Bytes(repeating: 0xFF, count: 4))
      }
      for key in keys where key != record.key {
        let store = try DamageTests.copy(original)
        var batch = Batch()
        // Moved, or there twice.
        if random.below(2) == 0 { batch.delete(record.space, record.key) }
        batch.put(record.space, key, Record.seal(record.space, key, payload))
        _ = try store.apply(batch, .relaxed)
        try await use(store, record.space, place)
      }
      // As it is: a checksum tells a record that was written for another key.
      let other = random.pick(records.filter { $0.space == record.space })
      let store = try DamageTests.copy(original)
      var batch = Batch()
      batch.put(record.space, record.key, other.value)
      batch.put(other.space, other.key, record.value)
      _ = try store.apply(batch, .relaxed)
      if other.key != record.key {
        let backend = try? MemoryBackend(
          try DamageTests.copy(store), name: "memory", options: StorageOptions())
        let isSound = try? backend?.verify().isSound
        #expect(isSound != true, "\(place)")
      }
      try await use(store, record.space, place)
    }
  }

  /// Whatever comes, a cache goes on, and written data is there; only a registry that cannot be read, and
  /// numbers of which all were given, end in an error.
  private func use(_ store: MemoryStore, _ space: Space, _ place: String) async throws {
    func trying(_ body: () async throws -> Void) async throws -> Bool {
      do {
        try await body()
        return true
      } catch let error as StoreError {
        let isKnown = error.code == .tooLarge || space == Spaces.system
        #expect(isKnown, "\(place): \(error)")
        return false
      }
    }
    var opened: MemoryBackend?
    guard
      try await trying({
        opened = try MemoryBackend(store, name: "memory", options: StorageOptions())
      }), let backend = opened
    else { return }
    _ = try backend.verify()
    _ = try await trying { _ = try Content(backend) }
    _ = try await trying {
      try backend.read { (view) throws(StoreError) in
        _ = try view.totals(Self.lane)
        _ = try view.finishedWrites(Self.lane, after: nil, limit: 99)
        _ = try view.lanes(Self.tree)
        _ = try view.incidents()
        _ = try view.usage(nil)
      }
    }
    _ = try await trying { _ = try await backend.tree(named: "other") }
    _ = try await trying { try await backend.commit([.enqueue(Self.lane, .set("a", 1))]) }
    let large = Node(.string(String(repeating: "other ", count: 60_000)))
    let edits: [StorageEdit] = [
      .overwrite(Self.tree, "new/rooms", DamageTests.room(9)),
      .overwrite(Self.tree, "new/large", large),
    ]
    if try await trying({ try await backend.commit(edits) }) {
      _ = try await trying {
        let found = try (backend.node(Self.tree, "new/rooms"), backend.node(Self.tree, "new/large"))
        #expect(found.0 == DamageTests.room(9), "\(place)")
        #expect(found.1 == large, "\(place)")
      }
    }
    let rest: [StorageEdit] = [
      .saveQuery(TrackedQuery(tree: Self.tree, path: "new", isComplete: true)),
      .overwrite(Self.tree, "rooms/r1/m3", 5),
      .report(Incident(kind: .cacheRangeDropped, tree: Self.tree, place: "x", bytes: [])),
      .purge(Self.lane),
    ]
    for edit in rest { _ = try await trying { try await backend.commit([edit]) } }
    _ = try await trying { _ = try await backend.tidy(.milliseconds(5)) }
    _ = try await trying { try backend.finishMending() }
    _ = try await trying { try await backend.commit([.wipe(Self.tree)]) }
    _ = try await trying { try await backend.close() }
  }
}
