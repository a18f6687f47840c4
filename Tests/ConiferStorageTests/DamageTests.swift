import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Each record of a store is damaged in turn: nothing traps, nothing wrong is read, and what was
/// lost is known to be lost.
@Suite struct DamageTests {
  static let rooms = 6

  static func room(_ number: Int) -> Node {
    Node(
      children: (0..<60).map { message in
        let text = "message \(message) of room \(number), with words that make it longer"
        return (
          Key("m\(message)"),
          ["text": Node(.string(text)), "ts": Node(.integer(Int64(message)))] as Node
        )
      }, priority: Priority(Int64(number)))
  }

  /// A store with data of every kind.
  static func filled() async throws -> MemoryStore {
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let tree = try await backend.tree(named: "main")
    for number in 0..<rooms {
      let path = Path("rooms/r\(number)")
      try await backend.commit([
        .overwrite(tree, path, room(number)),
        .saveQuery(TrackedQuery(tree: tree, path: path, isComplete: true)),
      ])
    }
    // A delta, a large leaf, a filtered query with keys, a pin, metadata.
    try await backend.commit([.overwrite(tree, "rooms/r1/m7/text", "changed")])
    let large = String(repeating: "large ", count: 60_000)
    let receipt = try await backend.commit([
      .overwrite(tree, "large/leaf", Node(.string(large))),
      .saveQuery(TrackedQuery(tree: tree, path: "large", isComplete: true)),
      .saveQuery(
        TrackedQuery(tree: tree, path: "rooms", parameters: "{\"l\":2}", isComplete: true)),
      .pin(Pin(tree: tree, path: "rooms/r1")),
      .setMetadata(tree, "cursor", [1, 2, 3]),
    ])
    try await backend.commit([.setTrackedKeys(tree, receipt.queries[1], ["r0", "r1"])])
    let lane = Lane(tree: tree, identity: "ann")
    for number in 0..<5 {
      try await backend.commit([
        .enqueue(lane, .set(Path("rooms/r\(number)/m1"), Node(.integer(Int64(number)))))
      ])
    }
    try await backend.commit([
      .enqueue(lane, .set("big", Node(.string(large)))),
      .finish(lane, WriteID(rawValue: 1), .acknowledged),
      .setState(lane, WriteID(rawValue: 2), .rejected(reason: "no")),
    ])
    return store
  }

  static func records(_ store: MemoryStore) throws -> [(space: Space, key: Bytes, value: Bytes)] {
    let view = try store.view()
    var records: [(space: Space, key: Bytes, value: Bytes)] = []
    for space in Spaces.all {
      for (key, value) in try view.entries(space, prefix: []) {
        records.append((space, key, value))
      }
    }
    return records
  }

  static func copy(_ store: MemoryStore) throws -> MemoryStore {
    let copy = MemoryStore()
    var batch = Batch()
    for record in try records(store) { batch.put(record.space, record.key, record.value) }
    _ = try copy.apply(batch, .relaxed)
    return copy
  }

  @Test(arguments: [StoreRole.cache, .authority])
  func `Every record may be damaged`(role: StoreRole) async throws {
    let original = try await Self.filled()
    var options = StorageOptions()
    options.role = role
    for record in try Self.records(original) {
      for at in Set([0, record.value.count / 2, record.value.count - 1]) {
        let store = try Self.copy(original)
        var value = record.value
        value[at] ^= 0x10
        var batch = Batch()
        batch.put(record.space, record.key, value)
        _ = try store.apply(batch, .relaxed)
        try await check(store, options, record.space, record.key)
      }
    }
  }

  private func check(
    _ store: MemoryStore, _ options: StorageOptions, _ space: Space, _ key: Bytes
  ) async throws {
    let place = "space \(space.id), key \(Damage.hex(key))"
    let tree = TreeID(rawValue: 1)
    let lane = Lane(tree: tree, identity: "ann")
    if space == Spaces.system {
      // Without the registry there is no telling whose the records are: opening or using says so.
      let error = #expect(throws: StoreError.self, "\(place)") {
        let backend = try MemoryBackend(store, name: "memory", options: options)
        _ = try backend.read { (view) throws(StoreError) in
          _ = try view.node(tree, .root)
          _ = try Trees.find(try store.view(), "main")
        }
        throw StoreError(.damaged, "only the number of the next tree is lost")
      }
      #expect(error?.code == .damaged, "\(place)")
      return
    }
    let backend = try PackedBackend(store, name: "memory", options: options)
    let isCache = [Spaces.runs, Spaces.deltas, Spaces.chunks].contains(space)
    if options.role == .authority, isCache {
      let error = #expect(throws: StoreError.self, "\(place)") {
        _ = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
      }
      #expect(error?.code == .damaged, "\(place)")
      return
    }
    // Whatever is read is what was written, or is marked incomplete.
    for number in 0..<Self.rooms {
      let path = Path("rooms/r\(number)")
      let (node, isComplete) = try backend.read { (view) throws(StoreError) in
        (try view.node(tree, path), try view.isComplete(tree, path))
      }
      var whole = Self.room(number)
      if number == 1 { whole = whole.setting(Path("m7/text"), to: "changed") }
      if isComplete { #expect(node == whole, "\(place)") }
      for (key, child) in node.children { #expect(child == whole[key], "\(place)") }
    }
    let (large, isComplete) = try backend.read { (view) throws(StoreError) in
      (try view.node(tree, "large/leaf"), try view.isComplete(tree, "large"))
    }
    #expect(large.leafCount == 1 || !isComplete, "\(place)")
    // The queue keeps all other writes, and the damaged one with its bytes.
    let (writes, rejected, totals, incidents) = try backend.read { (view) throws(StoreError) in
      let writes = try view.writes(lane, after: nil, limit: 100)
      let rejected = try view.rejectedWrites(lane, after: nil, limit: 100)
      return (writes, rejected, try view.totals(lane), try view.incidents())
    }
    let aside = incidents.filter { $0.kind == .writeSetAside }
    #expect(writes.count + rejected.count + aside.count == 5, "\(place)")
    #expect(aside.allSatisfy { !$0.bytes.isEmpty }, "\(place)")
    #expect(totals.pending == writes.count && totals.rejected == rejected.count, "\(place)")
    let receipt = try await backend.commit([.enqueue(lane, .set("x", 1))])
    #expect(receipt.writes.allSatisfy { $0 > WriteID(rawValue: 6) }, "\(place)")
    for stored in try backend.read({ (view) throws(StoreError) in
      try view.trackedQueries(tree, after: nil, limit: 100)
    }) {
      _ = try backend.read { (view) throws(StoreError) in try view.trackedKeys(tree, stored.id) }
    }
    _ = try backend.read { (view) throws(StoreError) in
      _ = try view.pins(tree)
      _ = try view.metadata(tree, "cursor")
      _ = try view.finishedWrite(lane, WriteID(rawValue: 1))
      _ = try view.usage(nil)
    }
    try backend.finishMending()
    try expectExactUsage(store, place)
    try await backend.close()
  }
}

/// The counted usage of every tree is what a scan finds.
///
/// - Parameter inFull: also what is counted beside usage; a repair may have left gaps in that.
func expectExactUsage(_ store: MemoryStore, _ place: String, inFull: Bool = false) throws {
  let view = try store.view()
  for info in try Trees.all(view) {
    let counted = try UsageRow.read(view, info.id)
    var found = try Recount.whole(view, info.id)
    #expect(counted.usage == found.usage, "\(place)")
    guard inFull else { continue }
    found.bytes = found.bytes.filter { $0.value != 0 }
    #expect(counted == found, "\(place)")
  }
}
