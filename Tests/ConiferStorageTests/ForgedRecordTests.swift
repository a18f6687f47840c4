import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Records whose checksum is right and whose payload is nonsense: reading and writing over them may
/// fail with an error, and never traps.
@Suite struct ForgedRecordTests {
  private static func forge(_ payload: Bytes, _ random: inout Seeded) -> Bytes {
    var forged = payload
    switch random.below(4) {
    case 0: forged = Bytes(forged.prefix(random.below(payload.count + 1)))
    case 1: forged.insert(UInt8(random.below(256)), at: random.below(payload.count + 1))
    default:
      for _ in 0...random.below(3) where !forged.isEmpty {
        let values = [0, 1, 0x7F, 0x80, 0xFF, random.below(256)]
        // Heads are short: most changes hit the first bytes.
        let reach = random.below(2) == 0 ? min(16, forged.count) : forged.count
        forged[random.below(reach)] = UInt8(values[random.below(values.count)])
      }
    }
    return forged
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `Nonsense under a right checksum is an error at worst`(seed: UInt64) async throws {
    var random = Seeded(seed)
    let original = try await DamageTests.filled()
    let tree = TreeID(rawValue: 1)
    let lane = Lane(tree: tree, identity: "ann")
    for record in try DamageTests.records(original) {
      for _ in 0..<3 {
        let store = try DamageTests.copy(original)
        let payload = Self.forge(Bytes(record.value.dropFirst(Record.overhead)), &random)
        var batch = Batch()
        batch.put(record.space, record.key, Record.seal(record.space, record.key, payload))
        _ = try store.apply(batch, .relaxed)
        guard
          let backend = try? MemoryBackend(store, name: "memory", options: StorageOptions())
        else {
          let place = "space \(record.space.id), key \(Damage.hex(record.key))"
          #expect(record.space == Spaces.system, "seed \(seed), not opened: \(place)")
          continue
        }
        _ = try backend.verify()
        func read(_ body: (any StorageView) throws(StoreError) -> Void) {
          do throws(StoreError) { try backend.read(body) } catch {}
        }
        read { (view) throws(StoreError) in _ = try view.node(tree, .root) }
        read { (view) throws(StoreError) in _ = try view.node(tree, "rooms/r1", .last(3)) }
        read { (view) throws(StoreError) in
          _ = try view.childKeys(tree, "rooms", after: nil, limit: 100)
        }
        read { (view) throws(StoreError) in _ = try view.writes(lane, after: nil, limit: 100) }
        read { (view) throws(StoreError) in _ = try view.totals(lane) }
        read { (view) throws(StoreError) in
          _ = try view.rejectedWrites(lane, after: nil, limit: 100)
        }
        read { (view) throws(StoreError) in _ = try view.pendingWrites(lane, touching: "rooms") }
        read { (view) throws(StoreError) in
          for stored in try view.trackedQueries(tree, after: nil, limit: 100) {
            _ = try view.trackedKeys(tree, stored.id)
          }
        }
        read { (view) throws(StoreError) in _ = try view.trackedQueries(tree, below: .root) }
        read { (view) throws(StoreError) in _ = try view.pins(tree) }
        read { (view) throws(StoreError) in _ = try view.finishedWrite(lane, WriteID(rawValue: 1)) }
        read { (view) throws(StoreError) in _ = try view.usage(nil) }
        read { (view) throws(StoreError) in _ = try view.incidents() }
        _ = try? await backend.commit([.overwrite(tree, "rooms/r1/m3", 5)])
        _ = try? await backend.commit([.enqueue(lane, .set("a", 1))])
        _ = try? await backend.commit([.purge(lane), .overwrite(tree, .root, .empty)])
        _ = try? await backend.tidy(.milliseconds(5))
        try? await backend.close()
      }
    }
  }

  @Test func `Counts and numbers at the end of their range are summed without a trap`() async throws
  {
    let store = try await DamageTests.filled()
    var row = UsageRow()
    let most = 1 << 44 - 1
    (row.leaves, row.queries, row.dictionaries) = (most, most, most)
    row.nextRun = Numbers.lastRun + 1
    row.raw = RawBytes(runs: most, deltas: most, largeLeaves: most)
    for space in UInt8.min ... .max { row.bytes[space] = most }
    var batch = Batch()
    for tree in UInt32(1)...300 {
      let key = StoreKey.prefix(TreeID(rawValue: tree))
      batch.put(Spaces.usage, key, Record.seal(Spaces.usage, key, row.payload))
    }
    for (space, key, value) in try DamageTests.records(store) {
      var reader = ByteReader(Bytes(value.dropFirst(Record.overhead)))
      var writer = ByteWriter()
      switch space {
      case Spaces.runs:
        for _ in 0..<2 { writer.byte(reader.byte() ?? 0) }
        for _ in 0..<3 { writer.varint(reader.varint() ?? 0) }
        _ = reader.varint()
        writer.varint(UInt64.max)
      case Spaces.deltas:
        writer.byte(reader.byte() ?? 0)
        writer.varint(reader.varint() ?? 0)
        _ = reader.varint()
        writer.varint(UInt64.max - 1)
      case Spaces.queue where key.last == 0xFF:
        for _ in 0..<5 { writer.varint(UInt64.max) }
      default: continue
      }
      writer.append(reader.take(reader.remaining) ?? [])
      batch.put(space, key, Record.seal(space, key, writer.bytes))
    }
    _ = try store.apply(batch, .relaxed)
    for role in [StoreRole.authority, .cache] {
      let backend = try MemoryBackend(
        try DamageTests.copy(store), name: "memory", options: StorageOptions(role: role))
      #expect(try !backend.verify().isSound)
      let total = try backend.read { (view) throws(StoreError) in try view.usage(nil).total }
      #expect(total > 1 << 59)
      _ = try? backend.read { (view) throws(StoreError) in
        try view.node(TreeID(rawValue: 1), .root)
      }
      _ = try? backend.space()
      _ = try? await backend.commit([.overwrite(TreeID(rawValue: 1), "new", 1)])
      _ = try? await backend.commit([
        .enqueue(Lane(tree: TreeID(rawValue: 1), identity: "ann"), .set("a", 1))
      ])
      while (try? await backend.tidy(.milliseconds(50))) == true {}
    }
  }
}
