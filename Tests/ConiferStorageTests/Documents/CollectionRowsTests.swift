import ConiferDocument
import ConiferKeyValue
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// The rows by which queries of groups find collections: kept by commits, listed anew after damage.
@Suite struct CollectionRowsTests {
  private typealias Samples = DocumentSamples

  private static let long = String(repeating: "long", count: 60)
  private static let ids = ["c", "d", "é", long]

  private static func document(_ path: DocumentPath) -> Document {
    Document(path, .found(["text": .string(String(repeating: "x", count: 200))]))
  }

  private func query(_ id: String) -> DocumentQuery {
    DocumentQuery(.group(id), in: Samples.database)
  }

  private func answer(
    _ backend: MemoryBackend, _ tree: TreeID, _ id: String
  ) throws -> DocumentAnswer {
    try backend.readDocuments { (view) throws(StoreError) in
      try view.query(Lane(tree: tree), query(id))
    }
  }

  private func rows(_ store: MemoryStore) throws -> Int {
    try store.view().keys(Spaces.collections, prefix: []).count
  }

  private func isSound(_ backend: MemoryBackend) throws -> Bool {
    let report = try backend.verify()
    if !report.isSound { Issue.record("\(report.findings)") }
    return try report.isSound && backend.usageDrift().isEmpty
  }

  /// A collection with one of some ids, at the root or below documents, with a path that is cut or not.
  private func collection(_ random: inout Seeded) -> CollectionPath {
    let parents = ["", "a/b/", "a/\(Self.long)/", "\(Self.long)/\(Self.long)\(random.below(4))/"]
    return Samples.collection("\(random.pick(parents))\(random.pick(Self.ids))")
  }

  @Test(arguments: Seeded.seeds(12))
  func `Rows follow commits, eviction and damage, and groups are found whole`(
    seed: UInt64
  ) async throws {
    var random = Seeded(seed)
    var store = MemoryStore()
    var backend = try IndexTests.open(store)
    let tree = try await backend.tree(named: "documents", order: .documents)
    var stored: Set<DocumentPath> = []
    for round in 0..<25 {
      switch random.below(10) {
      case 0:
        _ = try await backend.evict(to: random.below(2) * 4000, dryRun: false)
        stored = try backend.readDocuments { (view) throws(StoreError) in
          var left: Set<DocumentPath> = []
          for path in stored where try view.document(tree, path).state != .unseen {
            left.insert(path)
          }
          return left
        }
      case 1:
        store = try DamageTests.copy(store)
        backend = try IndexTests.open(store)
      case 2:
        let keys = try store.view().keys(Spaces.collections, prefix: [])
        guard let key = keys.randomElement(using: &random) else { continue }
        try store.damage(Spaces.collections, key)
        backend = try IndexTests.open(store)
      default:
        var edits: [DocumentEdit] = []
        for _ in 0..<random.below(12) {
          let path = try collection(&random).document("d\(random.below(3))")
          if random.chance(45) {
            edits.append(.forget(path))
            stored.remove(path)
          } else {
            edits.append(.put(random.chance(20) ? Document(path, .missing) : Self.document(path)))
            stored.insert(path)
          }
        }
        try await backend.commit([.documents(tree, edits)])
      }
      for id in Self.ids {
        let found = try backend.readDocuments { (view) throws(StoreError) in
          var found: [DocumentPath] = []
          for path in stored.sorted() where path.collection.id == id {
            if try view.document(tree, path).fields != nil { found.append(path) }
          }
          return found
        }
        let shown = try answer(backend, tree, id).documents.map(\.path)
        #expect(shown == found, "seed \(seed), round \(round)")
      }
      if random.chance(50) {
        while try await backend.tidy(.seconds(1)) {}
        #expect(try isSound(backend), "seed \(seed), round \(round)")
        #expect(try rows(store) == Set(stored.map(\.collection)).count)
      }
    }
    try await backend.close()
  }

  @Test func `A group is found without a look at other collections`() async throws {
    let probe = ProbeStore()
    let backend = try PackedBackend(
      probe, name: "probe", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "documents", order: .documents)
    let few = try (0..<5).map { try DocumentPath("a/d\($0)/few/d") }
    try await backend.commit([.documents(tree, few.map { .put(Self.document($0)) })])
    func cost() throws -> Int {
      try probe.counting {
        let answer = try backend.readDocuments { (view) throws(StoreError) in
          try view.query(Lane(tree: tree), query("few"))
        }
        #expect(answer.documents.map(\.path) == few)
        #expect(answer.explanation.plan == .scan(collections: 5))
      }
    }
    _ = try cost()
    let before = try cost()
    let many = try (0..<600).map { try DocumentPath("b/d\($0)/many/d") }
    try await backend.commit([.documents(tree, many.map { .put(Self.document($0)) })])
    _ = try cost()
    let after = try cost()
    #expect(after <= before + 5, "\(before), then \(after)")
    // Nor at the writes that wait in them, nor at others whose ids begin alike.
    let elsewhere = many + (try (0..<600).map { try DocumentPath("b/d\($0)/few\($0)/d") })
    for path in elsewhere {
      let write = Mutation(path, .set(["text": "waits"], []))
      let batch = MutationBatch(written: .zero, bases: [], mutations: [write])
      try await backend.commit([.enqueue(Lane(tree: tree), batch.payload)])
    }
    _ = try cost()
    let beside = try cost()
    #expect(beside <= after + 5, "\(after), then \(beside)")
    // A declared index reads its own collections alone.
    let index = try DocumentIndex("few", [DocumentIndex.Field(Samples.field("text"))])
    try await backend.commit([.documents(tree, [.setIndexes([index])])])
    let built = try probe.counting { try backend.buildIndexes() }
    #expect(built <= 60, "\(built) reads")
    #expect(try backend.verify().isSound)
  }

  @Test func `Damaged documents take their collection's row along`() async throws {
    let store = MemoryStore()
    let first = try IndexTests.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let paths = try (0..<80).map { try DocumentPath("a/d\(100 + $0)/c/d") }
    try await first.commit([.documents(tree, paths.map { .put(Self.document($0)) })])
    let run = try #require(
      try DamageTests.records(store).last { $0.space == Spaces.runs })
    try store.damage(run.space, run.key)
    let backend = try IndexTests.open(store)
    let left = try answer(backend, tree, "c").documents.count
    #expect((1..<80).contains(left))
    while try await backend.tidy(.seconds(1)) {}
    #expect(try rows(store) == left)
    #expect(try isSound(backend))
  }

  @Test func `Mending does not end where collections could not be listed`() async throws {
    var store = MemoryStore()
    let first = try IndexTests.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let paths = try (0..<80).map { try DocumentPath("a/d\(100 + $0)/c/d") }
    try await first.commit([.documents(tree, paths.map { .put(Self.document($0)) })])
    store = try DamageTests.copy(store)
    // A row is lost, and a later version has packed the last run.
    let run = try #require(try DamageTests.records(store).last { $0.space == Spaces.runs })
    let sound = try #require(try store.view().value(run.space, run.key))
    var payload = try #require(Record.open(run.space, run.key, sound))
    payload[0] = 0x40
    let rows = CollectionRows(view: try store.view(), tree: tree)
    let lost = rows.key(paths[79].collection)
    var batch = Batch()
    batch.put(run.space, run.key, Record.seal(run.space, run.key, payload))
    batch.delete(Spaces.collections, lost)
    _ = try store.apply(batch, .relaxed)
    let marker = SystemKey.mending(tree).bytes
    let leaves = LeafStore(store, .none)
    let tx = try leaves.transaction()
    try MendingMarker.add(tx, tree)
    try tx.writeUsage()
    _ = try leaves.apply(tx, tx.batch(), .relaxed)
    tx.close()
    let snapshot = try leaves.openSnapshot()
    var listing = CollectionListing(tree)
    while !listing.isDone { _ = try listing.step(snapshot) }
    #expect(listing.isIncomplete)
    snapshot.close()
    let second = try IndexTests.open(store)
    // Housekeeping refuses the run; mending goes on all the same.
    try second.finishMending()
    #expect(try store.view().value(Spaces.system, marker) != nil)
    store = try DamageTests.copy(store)
    // With that version all are listed.
    batch = Batch()
    batch.put(run.space, run.key, sound)
    _ = try store.apply(batch, .relaxed)
    let third = try IndexTests.open(store)
    #expect(try answer(third, tree, "c").documents.count == 80)
    while try await third.tidy(.seconds(1)) {}
    #expect(try store.view().value(Spaces.system, marker) == nil)
    #expect(try store.view().value(Spaces.collections, lost) != nil)
    #expect(try answer(third, tree, "c").documents.count == 80)
    #expect(try isSound(third))
    try await third.close()
  }

  @Test func `While rows may be lacking, a slice looks at so many other collections and no more`()
    async throws
  {
    let store = MemoryStore()
    let backend = try IndexTests.open(store)
    let tree = try await backend.tree(named: "documents", order: .documents)
    let many = try (0..<600).map { try DocumentPath("b/d\(100 + $0)/many/d") }
    let few = try (0..<3).map { try DocumentPath("b/d\(150 + 200 * $0)/few/d") }
    try await backend.commit([.documents(tree, (many + few).map { .put(Self.document($0)) })])
    let leaves = LeafStore(store, .none)
    let tx = try leaves.transaction()
    defer { tx.close() }
    try MendingMarker.add(tx, tree)
    let reader = DocumentReader(runs: RunReader(view: tx, tree: tree))
    var found: [CollectionPath] = []
    var (at, slices) = (Bytes?.some([]), 0)
    while let start = at {
      slices += 1
      let meter = ReadMeter()
      let sliced = DocumentReader(runs: reader.runs, meter: meter)
      at = try sliced.forEachCollection(withID: "few", from: start, most: 100) { (path, _) in
        found.append(path)
        return true
      }
    }
    #expect(found == few.map(\.collection))
    #expect(slices > 2)
    try await backend.close()
  }

  @Test func `Coverage asks once in which lanes writes wait`() async throws {
    let probe = ProbeStore()
    let backend = try PackedBackend(
      probe, name: "probe", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "documents", order: .documents)
    let paths = try (0..<50).map { try DocumentPath("c/d\(100 + $0)") }
    for identity in ["anna", "ben"] {
      let lane = Lane(tree: tree, identity: identity)
      try await backend.commit(
        try paths.map { path in
          let write = try Mutation.set(path, [("a", .value(1))], in: Samples.database)
          let batch = MutationBatch([write], written: .zero) { Document($0, .unseen) }
          return .enqueue(lane, batch.payload)
        })
    }
    let snapshot = try LeafStore(probe, .none).openSnapshot()
    defer { snapshot.close() }
    let info = try #require(try Trees.info(snapshot, tree))
    func walks() -> Int { probe.walks.withLock { $0[Spaces.queueIndex.id] ?? 0 } }
    let before = walks()
    let ranges = try Coverage(snapshot, info).ranges([], [PathKey.endMark])
    #expect(ranges.count == 50)
    // Each step asks each lane; its end does too.
    #expect(walks() - before <= 2 * 51 + 1)
    try await backend.close()
  }

  @Test func `A document in chunks that a query finds is read once`() async throws {
    let probe = ProbeStore()
    let backend = try PackedBackend(
      probe, name: "probe", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "documents", order: .documents)
    let text = String(repeating: "large ", count: 300_000 / 6)
    let large = Document(
      try DocumentPath("c/d"), .found(["text": .string(text), "a": 1]))
    try await backend.commit([.documents(tree, [.put(large)])])
    let field = Samples.field("a")
    func reads(_ value: DocumentValue) throws -> Int {
      let query = try DocumentQuery(.collection(Samples.collection("c")), in: Samples.database)
        .filtered(.field(field, .greaterThan, value))
      return try probe.counting {
        let answer = try backend.readDocuments { (view) throws(StoreError) in
          try view.query(Lane(tree: tree), query)
        }
        #expect(answer.documents.count == (value == 0 ? 1 : 0))
      }
    }
    // Until memory has the run.
    for _ in 0..<3 { _ = try reads(0) }
    #expect(try reads(0) == reads(2))
    try await backend.close()
  }

  @Test func `A row too many and a row too few are found`() async throws {
    let store = MemoryStore()
    let backend = try IndexTests.open(store)
    let tree = try await backend.tree(named: "documents", order: .documents)
    let path = try DocumentPath("a/b/c/d")
    try await backend.commit([.documents(tree, [.put(Self.document(path))])])
    let rows = CollectionRows(view: try store.view(), tree: tree)
    var batch = Batch()
    let other = rows.key(Samples.collection("a"))
    batch.put(Spaces.collections, other, Record.seal(Spaces.collections, other, []))
    batch.delete(Spaces.collections, rows.key(path.collection))
    _ = try store.apply(batch, .relaxed)
    let kinds = try IndexTests.open(store).verify().findings.map(\.kind)
    #expect(kinds.contains(.missing) && kinds.contains(.orphan))
  }

  @Test func `The bytes of a row are those of format 1`() throws {
    let rows = CollectionRows(view: try MemoryStore().view(), tree: TreeID(rawValue: 2))
    #expect(
      rows.key(Samples.collection("a/b/c")) == [0, 0, 0, 2] + Bytes("c\0a/b/c\0".utf8))
    let cut = rows.key(Samples.collection("a/\(Self.long)/c"))
    #expect(cut.count == 4 + 200 + 8 && cut.starts(with: [0, 0, 0, 2] + Bytes("c\0a/long".utf8)))
  }
}

extension PackedBackend {
  /// Builds all declared indexes at once.
  fileprivate func buildIndexes() throws {
    while try engine.indexBuilder.needsSliceAfterRepair() { try engine.indexBuilder.slice() }
  }
}
