import ConiferDocument
import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage
/// What damage of documents and of what is kept about them costs.
extension DocumentStoreTests {
  @Test func `Damaged documents of a cache are dropped and told, those of an authority fail`()
    async throws
  {
    for role in StoreRole.allCases {
      let store = MemoryStore()
      let first = try Self.open(store, role)
      let tree = try await first.tree(named: "documents", order: .documents)
      let paths = try (0..<50).map { try Self.path("c/d\($0)") }
      try await first.commit([
        .documents(tree, paths.map { .put(Self.document($0, 1, size: 400)) })
      ])
      let run = try #require(try DamageTests.records(store).first { $0.space == Spaces.runs })
      try store.damage(run.space, run.key)
      let backend = try Self.open(store, role)
      let query = DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
      let read = { () throws -> Int in
        try backend.readDocuments { (view) throws(StoreError) in
          try view.query(Lane(tree: tree), query)
        }.documents.count
      }
      if role == .authority {
        #expect(throws: StoreError.self) { try read() }
        continue
      }
      #expect(try (1..<50).contains(read()))
      let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
      #expect(incidents.map(\.kind) == [.cacheRangeDropped])
      while try await backend.tidy(.seconds(1)) {}
      #expect(try backend.verify().isSound)
    }
  }

  @Test func `A damaged part of a large document costs the document, in a tree with indexes too`()
    async throws
  {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let (large, small) = (try Self.path("c/large"), try Self.path("c/small"))
    let index = try DocumentIndex("c", [.init(FieldPath(dotted: "n"))])
    try await first.commit([
      .documents(
        tree,
        [
          .setIndexes([index]), .put(Self.document(large, 1, size: 600_000)),
          .put(Self.document(small, 2)),
        ])
    ])
    while try await first.tidy(.milliseconds(50)) {}
    for chunk in try DamageTests.records(store) where chunk.space == Spaces.chunks {
      try store.damage(chunk.space, chunk.key)
    }
    let backend = try Self.open(store)
    func state(_ path: DocumentPath) throws -> Document.State {
      try backend.readDocuments { (view) throws(StoreError) in
        try view.document(tree, path).state
      }
    }
    #expect(try state(large) == .unseen)
    #expect(try state(small) != .unseen)
    try await backend.commit([.documents(tree, [.put(Self.document(large, 3))])])
    while try await backend.tidy(.milliseconds(50)) {}
    let query = try DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
      .filtered(.field(FieldPath(dotted: "n"), .greaterThan, 0))
    let answer = try backend.readDocuments { (view) throws(StoreError) in
      try view.query(Lane(tree: tree), query)
    }
    #expect(answer.documents.map(\.path) == [small, large])
    #expect(try backend.verify().isSound)
  }

  @Test func `What a pinned query matches stays covered when a document of it is damaged`()
    async throws
  {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let paths = try (0..<400).map { try Self.path("c/d\($0)") }
    let target = DocumentQuery(.group("c"), in: Self.database).target
    let id = try await first.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1, size: 300)) }),
      .saveQuery(TrackedQuery(lane, target)), .pin(Pin(lane, target)),
    ]).queries[0]
    try await first.commit([.documents(tree, [.setMatches(id, paths)])])
    let run = try #require(try DamageTests.records(store).first { $0.space == Spaces.runs })
    try store.damage(run.space, run.key)
    let backend = try Self.open(store)
    func stored() throws -> Int {
      try backend.readDocuments { (view) throws(StoreError) in
        try view.documents(
          tree, in: Self.collection, after: nil, limit: 999
        ).count
      }
    }
    let left = try stored()
    #expect(left > 0 && left < paths.count)
    _ = try await backend.evict(to: 0, dryRun: false)
    #expect(try stored() == left)
    #expect(try backend.verify().isSound)
  }

  /// A row that cannot be read, and ones that can be, are as long as before and hold no document.
  @Test(arguments: [nil, "cccc", "////"])
  func `A damaged row of matches goes, and its query is complete no more`(
    _ text: String?
  ) async throws {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let paths = try (0..<4).map { try Self.path("c/d\($0)") }
    let target = DocumentQuery(.collection(Self.collection), in: Self.database).target
    let query = TrackedQuery(Lane(tree: tree), target, isComplete: true)
    let id = try await first.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1)) }), .saveQuery(query),
    ]).queries[0]
    try await first.commit([.documents(tree, [.setMatches(id, paths)])])
    let rows = try DamageTests.records(store).filter { $0.space == Spaces.queryKeys }.map(\.key)
    if let text {
      var batch = Batch()
      batch.put(
        Spaces.queryKeys, rows[1], Record.seal(Spaces.queryKeys, rows[1], Bytes(text.utf8)))
      _ = try store.apply(batch, .relaxed)
    } else {
      try store.damage(Spaces.queryKeys, rows[1])
    }
    let backend = try Self.open(store)
    #expect(try !backend.verify().isSound)
    let (matches, isComplete) = try backend.readDocuments { (view) throws(StoreError) in
      (try view.matches(tree, id), try view.trackedQuery(tree, id)?.isComplete)
    }
    #expect(matches == [paths[0], paths[2], paths[3]])
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(incidents.map(\.kind) == [.recordSetAside])
    let after = try backend.readDocuments { (view) throws(StoreError) in
      try view.trackedQuery(tree, id)?.isComplete
    }
    #expect(after == false, "while it was read: \(isComplete ?? false)")
    #expect(try backend.verify().isSound)
  }

  @Test(arguments: ["c/d", "c/" + String(repeating: "long", count: 90)])
  func `A document that grew beyond the limit by the server's word is no damage`(
    _ name: String
  ) async throws {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let path = try Self.path(name)
    let half = DocumentValue.string(String(repeating: "x", count: 600_000))
    let write = try Mutation.merge(path, [("w", .value(half))], in: Self.database)
    let batch = MutationBatch([write], written: .zero) { _ in Self.document(path, 1) }
    try await first.commit([
      .documents(tree, [.put(Self.document(path, 1))]), .enqueue(lane, batch.payload),
    ])
    try await first.commit([.documents(tree, [.put(Document(path, .found(["s": half])))])])
    let overlay = try #require(
      try DamageTests.records(store).first { $0.space == Spaces.overlays })
    try store.damage(overlay.space, overlay.key)
    let backend = try Self.open(store)
    let shown = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    #expect(shown.fields?.count == 2)
    #expect(try backend.verify().isSound)
  }

  @Test func `Keys that no document has are damage, and no read of them goes on for ever`()
    async throws
  {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let path = try Self.path("rooms/d")
    try await first.commit([.documents(tree, [.put(Self.document(path, 1))])])
    let forged: [Path] = [
      Path([Key("rooms/"), Key("d")]), Path([Key("rooms"), Key("__id7__")]), Path("rooms"),
      Path([Key("rooms"), Key("\0000000000000000A")]), Path([Key("rooms"), Key("a/b")]),
      Path([Key("rooms//x/y"), Key("d")]),
    ]
    for place in forged {
      #expect(DocumentKey.document(place) == nil, "\(place)")
      let copy = try DamageTests.copy(store)
      let leaves = LeafStore(copy, Compression.none)
      let tx = try leaves.transaction()
      let value = try DocumentRecord.encode(Self.document(path, 2))
      try tx.editor(tree).put(Entry(key: PathKey.encode(place, .documents), value: value))
      try tx.flush()
      try tx.writeUsage()
      _ = try leaves.apply(tx, tx.batch(), .relaxed)
      let backend = try Self.open(copy)
      let group = DocumentQuery(.group("rooms"), in: Self.database)
      let found = try backend.readDocuments { (view) throws(StoreError) in
        (
          try view.query(Lane(tree: tree), group).documents.count,
          try view.collections(tree, after: nil, limit: 99).count
        )
      }
      #expect(found.0 <= 1 && found.1 <= 1)
      #expect(
        try backend.read { (view) throws(StoreError) in try view.incidents() }.count == 1)
    }
  }
}
