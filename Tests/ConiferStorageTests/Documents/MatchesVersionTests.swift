import ConiferDocument
import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Tracked queries of documents that are answered from their matches: they give what a look at all documents gives.
@Suite struct MatchesVersionTests {
  private typealias Samples = DocumentSamples

  private static func time(_ seconds: Int64) -> Timestamp {
    Timestamp(unchecked: seconds, 0)
  }

  private static func document(_ path: String, _ state: Int64, read: Int64) -> Document {
    let fields: MapValue = ["a": .integer(state), "text": .string("some words of \(path)")]
    return Document(Samples.path(path), .found(fields), readTime: time(read))
  }

  /// A tree with a hundred documents that were read at 100, of which five have 1 as `a`, and a query for these.
  private struct World {
    let store = MemoryStore()
    let backend: MemoryBackend
    let tree: TreeID
    let lane: Lane
    let query: DocumentQuery
    let id: QueryID

    init(_ query: DocumentQuery? = nil) async throws {
      backend = try IndexTests.open(store)
      tree = try await backend.tree(named: "documents", order: .documents)
      lane = Lane(tree: tree)
      let open = try DocumentQuery(.collection(Samples.collections[0]), in: Samples.database)
        .filtered(.field(Samples.field("a"), .equal, 1))
      self.query = query ?? open
      let documents = (0..<100).map { number in
        MatchesVersionTests.document("c/d\(100 + number)", number % 20 == 0 ? 1 : 2, read: 100)
      }
      try await backend.commit([.documents(tree, documents.map { .put($0) })])
      let target = self.query.target
      id = try await backend.commit([.saveQuery(TrackedQuery(lane, target))]).queries[0]
      let matches = self.query.evaluate(documents).map(\.path)
      try await backend.commit([.documents(tree, [.setMatches(id, matches), version(at: 100)])])
    }

    func version(at seconds: Int64) -> DocumentEdit {
      .setMatchesVersion(id, MatchesVersion(query.source, at: MatchesVersionTests.time(seconds)))
    }

    func commit(_ edits: DocumentEdit...) async throws {
      try await backend.commit([.documents(tree, edits)])
    }

    func version() throws -> Timestamp? {
      try backend.readDocuments { (view) throws(StoreError) in try view.matchesVersion(tree, id) }?
        .time
    }

    /// What the query gives by its matches, which is what it gives without.
    func answer() throws -> DocumentAnswer {
      let (known, plain) = try backend.readDocuments { (view) throws(StoreError) in
        (try view.query(lane, query, tracked: id), try view.query(lane, query))
      }
      #expect(known.documents == plain.documents)
      return known
    }

    func isSound() throws -> Bool {
      let report = try backend.verify()
      if !report.isSound { Issue.record("\(report.findings)") }
      return try report.isSound && backend.usageDrift().isEmpty
    }
  }

  @Test func `A match that a row names in another collection can leave`() async throws {
    let world = try await World()
    let (own, other) = (Samples.path("c/d100"), Samples.path("e/d100"))
    func payload(_ path: DocumentPath) -> Bytes { Bytes(path.description.utf8) }
    var batch = Batch()
    let view = try world.store.view()
    for (row, value) in try view.entries(
      Spaces.queryKeys, prefix: StoreKey.prefix(world.tree))
    where Record.open(Spaces.queryKeys, row, value) == payload(own) {
      batch.put(
        Spaces.queryKeys, row, Record.seal(Spaces.queryKeys, row, payload(other)))
    }
    view.close()
    #expect(batch.edits.count == 1)
    _ = try world.store.apply(batch, .relaxed)
    func matches() throws -> [DocumentPath] {
      try world.backend.readDocuments { (view) throws(StoreError) in
        try view.matches(world.tree, world.id)
      }
    }
    #expect(try matches().contains(other))
    try await world.commit(
      .updateMatches(world.id, added: [], removed: [other, Samples.path("c/d120")]))
    #expect(try matches().map(\.id) == ["d140", "d160", "d180"])
  }

  @Test func `Matches are looked at, and what was read later`() async throws {
    let world = try await World()
    var answer = try world.answer()
    #expect(answer.explanation.plan == .matches && answer.documents.count == 5)
    #expect(answer.explanation.documentsRead == 5 && answer.explanation.indexEntries == 5)
    // One comes, one goes, one is of another collection, one is read anew as it was.
    try await world.commit(
      .put(Self.document("c/new", 1, read: 101)), .put(Self.document("c/d100", 2, read: 101)),
      .put(Self.document("e/new", 1, read: 101)), .put(Self.document("c/d101", 2, read: 102)))
    answer = try world.answer()
    #expect(answer.explanation.plan == .matches && answer.explanation.documentsRead == 7)
    #expect(answer.explanation.documentsDecoded == 7)
    #expect(answer.documents.map(\.path.id) == ["d120", "d140", "d160", "d180", "new"])
    // Read again, a document has one row, at its new time.
    try await world.commit(.put(Self.document("c/new", 1, read: 103)))
    #expect(try world.answer().explanation.indexEntries == 8)
    try await world.commit(.forget(Samples.path("c/new")))
    #expect(try world.answer().explanation.indexEntries == 7)
    // A later version leaves nothing behind it.
    try await world.commit(
      .updateMatches(world.id, added: [], removed: [Samples.path("c/d100")]),
      world.version(at: 102))
    #expect(try world.answer().explanation.documentsRead == 4)
    #expect(
      try world.store.view().keys(Spaces.changes, prefix: StoreKey.prefix(world.tree)).count == 3)
    #expect(try world.isSound())
  }

  @Test func `An index that has fewer rows serves first, one that has more does not`() async throws
  {
    let world = try await World()
    let index = try DocumentIndex("c", [DocumentIndex.Field(Samples.field("a"))])
    try await world.commit(.setIndexes([index]))
    try await IndexTests.waitUntilIdle(world.backend)
    #expect(try world.answer().explanation.plan == .matches)
    try await world.commit(.put(Self.document("c/d101", 3, read: 101)))
    #expect(try world.answer().explanation.plan == .indexes([[index]]))
    #expect(try world.isSound())
  }

  @Test func `Waiting writes are laid over what matches give`() async throws {
    let world = try await World()
    let batch = MutationBatch(
      written: .zero, bases: [],
      mutations: [
        Mutation(Samples.path("c/d100"), .set(["a": 2], []), if: .none),
        Mutation(Samples.path("c/d101"), .set(["a": 1], []), if: .none),
        Mutation(Samples.path("c/new"), .set(["a": 1], []), if: .none),
      ])
    try await world.backend.commit([.enqueue(world.lane, batch.payload)])
    let answer = try world.answer()
    #expect(answer.explanation.plan == .matches && answer.explanation.overlays == 3)
    #expect(answer.documents.map(\.path.id) == ["d101", "d120", "d140", "d160", "d180", "new"])
  }

  @Test func `Behind a limit all documents are looked at once a match may have given way`()
    async throws
  {
    let all = DocumentQuery(.collection(Samples.collections[0]), in: Samples.database)
    let query = try all.filtered(.field(Samples.field("a"), .equal, 1)).limited(to: 3)
    func plan(_ edit: DocumentEdit) async throws -> DocumentExplanation.Plan {
      let world = try await World(query)
      #expect(try world.answer().explanation.plan == .matches)
      try await world.commit(edit)
      #expect(try world.isSound())
      return try world.answer().explanation.plan
    }
    // One in front of them, and one of them that is what it was, push others back.
    #expect(try await plan(.put(Self.document("c/a", 1, read: 101))) == .matches)
    #expect(try await plan(.put(Self.document("c/d120", 1, read: 101))) == .matches)
    // One of them goes; the last of them was read anew.
    #expect(try await plan(.put(Self.document("c/d120", 2, read: 101))) == .scan(collections: 1))
    #expect(try await plan(.put(Self.document("c/d140", 1, read: 101))) == .scan(collections: 1))
    #expect(try await plan(.forget(Samples.path("c/d100"))) == .scan(collections: 1))
  }

  @Test func `A version is forgotten where the matches do not tell all any more`() async throws {
    func version(
      _ edits: (World) -> [StorageEdit]
    ) async throws -> Timestamp? {
      let world = try await World()
      try await world.backend.commit(edits(world))
      _ = try world.answer()
      #expect(try world.isSound())
      return try world.version()
    }
    let path = Samples.path("c/d120")
    // A document that was read before and comes now, a match that goes, other matches.
    #expect(
      try await version { [.documents($0.tree, [.put(Self.document("c/a", 1, read: 100))])] } == nil
    )
    #expect(
      try await version {
        [.documents($0.tree, [.updateMatches($0.id, added: [], removed: [path])])]
      } == nil)
    #expect(try await version { [.documents($0.tree, [.setMatches($0.id, [path])])] } == nil)
    #expect(try await version { [.documents($0.tree, [.setMatchesVersion($0.id, nil)])] } == nil)
    #expect(try await version { [.removeQuery($0.tree, $0.id)] } == nil)
    // It stays where a match is added, and where one commit says it again.
    #expect(
      try await version {
        [.documents($0.tree, [.updateMatches($0.id, added: [path], removed: [])])]
      } == Self.time(100))
    #expect(
      try await version {
        [
          .documents(
            $0.tree,
            [.updateMatches($0.id, added: [path], removed: [path]), $0.version(at: 110)])
        ]
      } == Self.time(110))
    // A document of another collection does not count.
    #expect(
      try await version { [.documents($0.tree, [.put(Self.document("e/a", 1, read: 1))])] }
        == Self.time(100))
  }

  @Test func `A version is not taken while it is not known what was read later`() async throws {
    let world = try await World()
    let group = try DocumentQuery(.group("c"), in: Samples.database)
      .filtered(.field(Samples.field("a"), .equal, 1))
    let target = group.target
    let id = try await world.backend.commit([.saveQuery(TrackedQuery(world.lane, target))])
      .queries[0]
    func set(_ seconds: Int64) async throws -> Timestamp? {
      let version = MatchesVersion(.group("c"), at: Self.time(seconds))
      try await world.commit(.setMatchesVersion(id, version))
      return try world.backend.readDocuments { (view) throws(StoreError) in
        try view.matchesVersion(world.tree, id)?.time
      }
    }
    try await world.commit(.put(Self.document("e/a", 1, read: 200)))
    #expect(try await set(199) == nil)
    #expect(try await set(200) == Self.time(200))
    // From now on the group's rows tell.
    try await world.commit(.put(Self.document("c/d1/c/x", 1, read: 210)))
    #expect(try await set(205) == Self.time(205))
    #expect(try await set(204) == nil)
    #expect(try world.isSound())
    await #expect(throws: StoreError.self) {
      let version = MatchesVersion(world.query.source, at: Self.time(300))
      try await world.commit(.setMatchesVersion(id, version))
    }
    // The number of another query is refused. Nobody's query serves every user.
    func find(_ query: DocumentQuery, _ identity: String) throws -> DocumentAnswer {
      try world.backend.readDocuments { (view) throws(StoreError) in
        try view.query(Lane(tree: world.tree, identity: identity), query, tracked: world.id)
      }
    }
    let error = #expect(throws: StoreError.self) { try find(group, "") }
    #expect(error?.code == .invalid)
    #expect(try find(world.query, "other").documents == find(world.query, "").documents)
  }

  @Test func `A copy answers by matches too`() async throws {
    let world = try await World()
    let copy = try IndexTests.open(MemoryStore())
    try await StoreCopier(source: world.backend, target: copy, reached: { _ in })
      .run(from: CopyPosition())
    let tree = try await copy.tree(named: "documents", order: .documents)
    let answer = try copy.readDocuments { (view) throws(StoreError) in
      try view.query(Lane(tree: tree), world.query, tracked: world.id)
    }
    #expect(answer.documents.count == 5 && answer.explanation.plan == .matches)
    #expect(try copy.verify().isSound)
  }

  @Test func `Damaged rows cost the versions, lost ones and those too many are found`() async throws
  {
    let world = try await World()
    try await world.commit(.put(Self.document("c/new", 1, read: 101)))
    let keys = try world.store.view().keys(Spaces.changes, prefix: [])
    #expect(keys.count == 4)
    for key in keys {
      var store = try DamageTests.copy(world.store)
      var batch = Batch()
      batch.delete(Spaces.changes, key)
      _ = try store.apply(batch, .relaxed)
      // The opening tells of it.
      let lost = try IndexTests.open(store).read { (view) throws(StoreError) in
        try view.incidents()
      }
      #expect(lost.count == 1)
      store = try DamageTests.copy(world.store)
      try store.damage(Spaces.changes, key)
      let backend = try IndexTests.open(store)
      for seconds in [102, 103] as [Int64] {
        let found = try backend.readDocuments { (view) throws(StoreError) in
          try view.query(world.lane, world.query, tracked: world.id).documents.count
        }
        #expect(found == (seconds == 102 ? 6 : 7))
        let put = DocumentEdit.put(Self.document("c/new\(seconds)", 1, read: seconds))
        try await backend.commit([.documents(world.tree, [put])])
      }
    }
    // Nobody needs this one.
    let rows = ChangeLogRows(view: try world.store.view(), tree: world.tree)
    let source = try #require(ChangeLogRows.source(.group("c")))
    let key = rows.changeKey(Samples.path("c/new"), source, Self.time(101))
    // It is counted, so that only `verify` finds it.
    let tx = try LeafStore(world.store, .standard).transaction()
    try tx.put(Spaces.changes, key, payload: [])
    tx.setUsage(world.tree, try Recount.whole(tx, world.tree))
    try tx.writeUsage()
    _ = try world.store.apply(tx.batch(), .relaxed)
    #expect(
      try IndexTests.open(world.store).verify().findings.contains { $0.kind == .orphan })
  }

  @Test func `The bytes of rows are those of format 1`() throws {
    let rows = ChangeLogRows(view: try MemoryStore().view(), tree: TreeID(rawValue: 2))
    let source = try #require(ChangeLogRows.source(.collection(Samples.collection("a"))))
    #expect(source == [1] + StoreKey.number(XXHash64.hash(Bytes("a".utf8))))
    #expect(
      ChangeLogRows.source(.group("a")) == [2] + StoreKey.number(XXHash64.hash(Bytes("a".utf8))))
    let time = try Timestamp(seconds: -1, nanoseconds: 258)
    let bytes: Bytes = [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 1, 2]
    let prefix: Bytes = [0, 0, 0, 2]
    #expect(rows.newestKey == prefix + [0] && ChangeLogRows.payload(newest: time) == bytes)
    let id = QueryID(rawValue: 7)
    #expect(rows.versionKey(id) == prefix + [1, 0, 0, 0, 0, 0, 0, 0, 7])
    #expect(
      ChangeLogRows.payload(MatchesVersion(.group("a"), at: time)) == [2, 1, 0x61] + bytes)
    #expect(
      rows.sourceVersionKey(id, source, time) == prefix + [2] + source + bytes + [
        0, 0, 0, 0, 0, 0, 0, 7,
      ])
    #expect(
      rows.changeKey(Samples.path("a/b"), source, time)
        == prefix + [3] + source + bytes + Bytes("a\0b\0".utf8))
  }

  // MARK: At random

  @Test(arguments: Seeded.seeds(20))
  func `A query by its matches gives what a look at all documents gives`(
    seed: UInt64
  ) async throws {
    var program = try await MatchesProgram(seed)
    for _ in 0..<60 {
      try await program.step()
      try program.check()
    }
    try await program.end()
  }
}
