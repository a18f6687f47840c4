import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Damaged, missing and forged index records never give a wrong answer that a row could show, and the
/// index is made anew.
@Suite struct IndexDamageTests {
  private static func specs() throws -> [QuerySpec] {
    let byTime = try QuerySpec.default.ordered(byChild: "ts")
    return [
      try byTime.limited(toLast: 50), try byTime.limited(toFirst: 200),
      try byTime.starting(at: 30).ending(at: 120),
    ]
  }

  private static func check(
    _ backend: MemoryBackend, _ tree: TreeID
  ) throws -> [QueryExplanation] {
    try specs().map { try IndexTests.check(backend, tree, $0) }
  }

  @Test(arguments: StoreRole.allCases)
  func `Each damaged record of an index sends it back to its beginning`(role: StoreRole)
    async throws
  {
    let original = MemoryStore()
    let (_, tree) = try await IndexTests.filled(original, rows: 60, role: role)
    for record in try DamageTests.records(original) where record.space == Spaces.indexes {
      let store = try DamageTests.copy(original)
      try store.damage(record.space, record.key)
      let backend = try IndexTests.open(store, role)
      _ = try Self.check(backend, tree)
      try await IndexTests.waitUntilIdle(backend)
      #expect(try Self.check(backend, tree).allSatisfy { $0.plan != .node })
      let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
      let isCopy = record.key == IndexSet.key(tree, isCopy: true)
      #expect(incidents.count == (isCopy ? 0 : 1), "\(Damage.hex(record.key))")
      let isSound = try backend.verify().isSound
      #expect(isCopy || isSound)
      #expect(try backend.usageDrift().isEmpty)
    }
  }

  @Test func `Damaged data of a cache takes its rows along`() async throws {
    let original = MemoryStore()
    let (filled, tree) = try await IndexTests.filled(original, rooms: 3, rows: 400)
    try await filled.commit([.overwrite(tree, "rooms/r1/messages/m100007/ts", 5)])
    for record in try DamageTests.records(original)
    where [Spaces.runs, Spaces.deltas].contains(record.space) {
      let store = try DamageTests.copy(original)
      try store.damage(record.space, record.key)
      let backend = try IndexTests.open(store)
      // The damage is met by a read that uses no index.
      _ = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
      try await IndexTests.waitUntilIdle(backend)
      #expect(try backend.verify().isSound)
      for room in 1...3 {
        for spec in try Self.specs() {
          try IndexTests.check(backend, tree, spec, at: Path("rooms/r\(room)/messages"))
        }
      }
      try await IndexTests.waitUntilIdle(backend)
      #expect(try backend.verify().isSound)
      let status = try backend.read { (view) throws(StoreError) in try view.indexes(tree) }
      #expect(status.map(\.state) == [.ready])
    }
  }

  /// Changes the rows of the index behind the backend's back, with right checksums.
  private static func forge(
    _ change: (_ row: Bytes, _ batch: inout Batch) -> Void
  ) async throws -> (MemoryStore, TreeID) {
    let store = MemoryStore()
    let (_, tree) = try await IndexTests.filled(store, rows: 60)
    let row = try #require(
      try DamageTests.records(store).last { $0.space == Spaces.indexes }?.key)
    var batch = Batch()
    change(row, &batch)
    _ = try store.apply(batch, .relaxed)
    return (store, tree)
  }

  @Test func `A row whose child has another value, or is not there, is not believed`()
    async throws
  {
    let forgeries: [(Bytes) -> Bytes] = [
      // Another key, and another value.
      { row in Bytes(row.dropLast(2)) + [UInt8(ascii: "x"), 0] },
      { row in
        var row = row
        row[row.count - 9] ^= 1
        return row
      },
    ]
    for forgery in forgeries {
      let (store, tree) = try await Self.forge { row, batch in
        let forged = forgery(row)
        batch.delete(Spaces.indexes, row)
        batch.put(Spaces.indexes, forged, Record.seal(Spaces.indexes, forged, []))
      }
      let backend = try IndexTests.open(store)
      #expect(try backend.verify().findings.contains { $0.place == "/rooms/r1/messages" })
      _ = try Self.check(backend, tree)
      #expect(
        try backend.read { (view) throws(StoreError) in try view.incidents() }.count == 1)
      try await IndexTests.waitUntilIdle(backend)
      #expect(try backend.verify().isSound)
      #expect(try Self.check(backend, tree).allSatisfy { $0.plan != .node })
    }
  }

  @Test func `Declarations whose numbers cannot be are damage`() async throws {
    let original = MemoryStore()
    let (_, tree) = try await IndexTests.filled(original, rows: 60)
    let sound = try IndexSet.read(try original.view(), tree)
    let index = try #require(sound.indexes.first)
    var forgeries: [IndexSet] = []
    for change in 0..<5 {
      var set = sound
      switch change {
      case 0: set.indexes.append(index)
      case 1: set.dropped = [0]
      case 2: set.dropped = [index.number]
      case 3: set.next = index.number
      default: set.dropped = [set.next]
      }
      forgeries.append(set)
    }
    for set in forgeries {
      let store = try DamageTests.copy(original)
      let options = StorageOptions(budget: nil, compression: .none)
      let engine = PackedEngine(store, options, Activity(after: 0))
      try engine.writer.change(.relaxed) { (tx) throws(StoreError) in
        let copy = IndexSet.key(tree, isCopy: true)
        let kept = try tx.value(Spaces.indexes, copy)
        try set.write(tx, tree)
        if let kept { try tx.put(Spaces.indexes, copy, value: kept) }
      }
      let backend = try IndexTests.open(store)
      #expect(try !backend.verify().isSound, "\(set)")
      _ = try Self.check(backend, tree)
      try await IndexTests.waitUntilIdle(backend)
      #expect(try Self.check(backend, tree).allSatisfy { $0.plan != .node })
      #expect(try backend.verify().isSound, "\(set)")
    }
  }

  @Test func `A row that is not there is found by a check of the store`() async throws {
    let (store, _) = try await Self.forge { row, batch in batch.delete(Spaces.indexes, row) }
    let findings = try IndexTests.open(store).verify().findings
    #expect(
      findings.contains {
        $0.kind == .missing && $0.words.contains("59 entries, and there are 60")
      },
      "\(findings)")
  }

  /// The copy is read where the first record is damaged: an old one would give numbers again whose rows are there.
  @Test(arguments: ["old declarations", "an old number", "no copy", "none but the copy"])
  func `A copy of the declarations that tells something else is found`(change: String) async throws
  {
    let store = MemoryStore()
    let (filled, tree) = try await IndexTests.filled(store, rows: 60)
    let (key, copy) = (IndexSet.key(tree), IndexSet.key(tree, isCopy: true))
    let old = try store.view().value(Spaces.indexes, copy)
    #expect(try filled.verify().isSound)
    try await filled.commit([.setIndexes(tree, [])])
    if change == "an old number" {
      // With the same declarations as before, of other numbers.
      try await filled.commit([.setIndexes(tree, [IndexTests.index()])])
    }
    try await IndexTests.waitUntilIdle(filled)
    #expect(try filled.verify().isSound)
    var batch = Batch()
    switch change {
    case "no copy": batch.delete(Spaces.indexes, copy)
    case "none but the copy": batch.delete(Spaces.indexes, key)
    default: batch.put(Spaces.indexes, copy, try #require(old))
    }
    _ = try store.apply(batch, .relaxed)
    // The bytes are counted otherwise, since the store was changed behind its back.
    func findings() throws -> [VerificationReport.Finding] {
      try filled.verify().findings.filter { $0.kind != .count }
    }
    let kind: VerificationReport.Finding.Kind = change.hasPrefix("no") ? .missing : .content
    let found = try findings()
    #expect(found.map(\.kind) == [kind], "\(found)")
    if change == "none but the copy" { return }
    // The next declaration writes both.
    let other = try IndexDefinition("rooms/$room/messages", by: .value)
    try await filled.commit([.setIndexes(tree, [IndexTests.index(), other])])
    try await IndexTests.waitUntilIdle(filled)
    #expect(try findings().isEmpty)
  }

  @Test func `Both records of the declarations lost, the indexes are gone and told to be`()
    async throws
  {
    let store = MemoryStore()
    let (_, tree) = try await IndexTests.filled(store, rows: 60)
    try store.damage(Spaces.indexes, IndexSet.key(tree))
    try store.damage(Spaces.indexes, IndexSet.key(tree, isCopy: true))
    let backend = try IndexTests.open(store)
    #expect(try Self.check(backend, tree).allSatisfy { $0.plan == .node && $0.hint != nil })
    #expect(try store.keys(Spaces.indexes).isEmpty)
    #expect(try backend.read { (view) throws(StoreError) in try view.incidents() }.count == 1)
    #expect(try backend.usageDrift().isEmpty)
  }

  @Test func `What a later version declared is not touched`() async throws {
    let store = MemoryStore()
    let (_, tree) = try await IndexTests.filled(store, rows: 60)
    let key = IndexSet.key(tree)
    var batch = Batch()
    batch.put(Spaces.indexes, key, Record.seal(Spaces.indexes, key, [9, 1, 0, 0]))
    _ = try store.apply(batch, .relaxed)
    let before = try DamageTests.records(store)
    let backend = try IndexTests.open(store)
    let refused = await #expect(throws: StoreError.self) {
      try await backend.commit([.overwrite(tree, "rooms/r1/messages/m1/ts", 1)])
    }
    #expect(refused?.code == .newerFormat)
    let after = try DamageTests.records(store)
    #expect(before.count == after.count && zip(before, after).allSatisfy { $0 == $1 })
  }
}
