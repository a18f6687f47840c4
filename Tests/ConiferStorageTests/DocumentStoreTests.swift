import ConiferDocument
import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Documents in a store: their keys and bytes, what damage costs, and what eviction leaves.
@Suite struct DocumentStoreTests {
  private static let database = DatabaseID(project: "p")

  private static func path(_ text: String) throws -> DocumentPath { try DocumentPath(text) }

  private static func open(
    _ store: MemoryStore, _ role: StoreRole = .cache
  ) throws -> MemoryBackend {
    try MemoryBackend(
      store, name: "memory",
      options: StorageOptions(budget: nil, compression: .none, role: role))
  }

  private static func document(_ path: DocumentPath, _ number: Int64, size: Int = 8) -> Document {
    Document(
      path, .found(["n": .integer(number), "text": .string(String(repeating: "x", count: size))]))
  }

  private static func merge(_ path: DocumentPath, _ name: String, _ value: Int64) throws
    -> WritePayload
  {
    let write = try Mutation.merge(path, [(name, .value(.integer(value)))], in: database)
    return MutationBatch([write], written: .zero) { Document($0, .unseen) }.payload
  }

  // MARK: Keys and bytes

  @Test func `Path keys are ordered as documents are, and lead back to them`() throws {
    let ids = [
      "__id-9223372036854775808__", "__id-2__", "__id0__", "__id7__", "__id10__", "\0", "\0a",
      "\0\u{7f}",
      "\u{1}", "\u{1f}", " ", "!", "A", "__id07__", "a", "ab", "é", "\u{ffff}", "\u{10000}",
    ]
    let paths = try ids.map { try CollectionPath("c").document($0) }
    #expect(paths == paths.sorted())
    let keys = paths.map { DocumentKey.encode($0) }
    for (a, b) in zip(keys, keys.dropFirst()) { #expect(bytesPrecede(a, b)) }
    for (path, key) in zip(paths, keys) {
      #expect(DocumentKey.document(key) == path)
      #expect(DocumentKey.document(DocumentKey.treePath(path)) == path)
    }
    #expect(DocumentKey.document(Path("c")) == nil)
    #expect(DocumentKey.document(Path("c/d/e")) == nil)
    // No document of one collection lies within the keys of another.
    let other = DocumentKey.encode(try CollectionPath("c/d/e"))
    #expect(!other.starts(with: DocumentKey.encode(try CollectionPath("c"))))
  }

  @Test func `The bytes of a document, a batch and an overlay are those of format 1`() throws {
    let path = try Self.path("c/d")
    let fields: MapValue = [
      "a": [nil, true, -1, 0.5, .bytes([7])], "m": ["é": "text"],
      "t": .timestamp(try Timestamp(seconds: -1, nanoseconds: 5000)),
    ]
    let document = Document(
      path, .found(fields), version: try Timestamp(seconds: 100), readTime: .zero,
      writes: .committed)
    let expected: Bytes =
      [24, 46, 0x81, 0xC8, 1, 0, 0, 0, 3]
      + [1, 0x61, 10, 5, 0, 2, 3, 1, 4, 0, 0, 0, 0, 0, 0, 0xE0, 0x3F, 7, 1, 7]
      + [1, 0x6D, 12, 1, 2, 0xC3, 0xA9, 5, 4, 0x74, 0x65, 0x78, 0x74]
      + [1, 0x74, 6, 1, 0x88, 0x27]
    let bytes = try DocumentRecord.encode(document)
    #expect(bytes == expected)
    #expect(bytes.withUnsafeBytes { DocumentRecord.decode(path, $0) } == document)
    let made = Document(
      path, .found(["a": nil]), version: .zero, readTime: .zero,
      createTime: try Timestamp(seconds: 3, nanoseconds: 2))
    let told = try DocumentRecord.encode(made)
    #expect(told == [24, 11, 0x41, 0, 0, 0, 0, 6, 2, 1, 1, 0x61, 0])
    #expect(told.withUnsafeBytes { DocumentRecord.decode(path, $0) } == made)
    #expect(told.withUnsafeBytes { DocumentRecord.readTime($0) } == .zero)

    let write = Mutation(
      path,
      .patch(
        ["n": 1], FieldMask([.init(unchecked: ["n"])]),
        [
          FieldTransform(.init(unchecked: ["k"]), .increment(2))
        ]), if: .exists(true))
    let batch = MutationBatch(written: .zero, bases: [], mutations: [write])
    #expect(
      batch.payload.bytes == [1, 0, 0, 0, 1, 0, 1, 2, 1, 1, 0x6E, 3, 2, 1, 1, 1, 0x6E]
        + [1, 1, 1, 0x6B, 2, 3, 4])
    #expect(batch.payload.touches == [Path("c/d")])
    #expect(MutationBatch(batch.payload) == batch)

    let overlay = Overlay(path, .patch(["n": 1], FieldMask([.init(unchecked: ["n"])])))
    #expect(
      OverlayRows.payload(overlay)
        == [3, 0x63, 0x2F, 0x64, 0x82, 1, 1, 0x6E, 3, 2, 1, 1, 1, 0x6E, 0])
    let stamped = Overlay(path, .delete, stamped: [.init(unchecked: ["t"])])
    #expect(OverlayRows.payload(stamped) == [3, 0x63, 0x2F, 0x64, 0x83, 1, 1, 1, 0x74])
    // Rows of before the first release do not tell it.
    let old: Bytes = [3, 0x63, 0x2F, 0x64, 2, 1, 1, 0x6E, 3, 2, 1, 1, 1, 0x6E]
    let key: Bytes = [0, 0, 0, 1, 0]
    #expect(try OverlayRows.overlay(key, Record.seal(Spaces.overlays, key, old)) == overlay)
  }

  @Test(arguments: Seeded.seeds(2))
  func `Bytes that were cut or changed are no document and never trap`(seed: UInt64) throws {
    var random = Seeded(seed)
    let path = try Self.path("c/d")
    let deep = (0..<300).reduce(DocumentValue.null) { value, _ in ["m": value] }
    let document = Document(
      path, .found(["a": [1, "text", [:]], "p": .vector([1, 2]), "r": .null]))
    let bytes = try DocumentRecord.encode(document)
    for count in 0..<bytes.count {
      #expect(Bytes(bytes.prefix(count)).withUnsafeBytes { DocumentRecord.decode(path, $0) } == nil)
    }
    for _ in 0..<2000 {
      var forged = bytes
      forged[random.below(forged.count)] = UInt8(random.below(256))
      _ = forged.withUnsafeBytes { DocumentRecord.decode(path, $0) }
    }
    // A record of values that are read (2 levels), and of ones that are not, made by hand.
    let empty = try DocumentRecord.encode(Document(path, .found([:])))
    func record(_ fields: MapValue) -> Bytes {
      var (body, whole) = (ByteWriter(), ByteWriter())
      body.append(Bytes(empty.dropFirst(2).dropLast()))
      DocumentValueCodec.append(fields, to: &body)
      whole.byte(ValueTag.document)
      whole.sized(body.bytes)
      return whole.bytes
    }
    let fields: MapValue = ["m": ["m": .null]]
    #expect(record(fields).withUnsafeBytes { DocumentRecord.decode(path, $0) }?.fields == fields)
    #expect(record(["m": deep]).withUnsafeBytes { DocumentRecord.decode(path, $0) } == nil)
  }

  // MARK: Damage

  @Test func `A damaged or lost overlay is made anew from the queue`() async throws {
    let original = MemoryStore()
    let filled = try Self.open(original)
    let tree = try await filled.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    let paths = try (0..<4).map { try Self.path("c/d\($0)") }
    try await filled.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1)) })
    ])
    for path in paths.dropLast() {
      try await filled.commit([.enqueue(lane, try Self.merge(path, "n", 2))])
    }
    #expect(try filled.verify().isSound)
    var tried = 0
    for record in try DamageTests.records(original) where record.space == Spaces.overlays {
      tried += 1
      let store = try DamageTests.copy(original)
      try store.damage(record.space, record.key)
      let backend = try Self.open(store)
      #expect(try backend.verify().isSound == false)
      for path in paths {
        let shown = try backend.readDocuments { (view) throws(StoreError) in
          try view.document(lane, path)
        }
        #expect(shown.fields?["n"] == (path == paths[3] ? 1 : 2))
      }
      #expect(try backend.verify().isSound)
      // What is lost leaves no record that could tell: the check does.
      var batch = Batch()
      batch.delete(record.space, record.key)
      _ = try store.apply(batch, .relaxed)
      #expect(try backend.verify().findings.contains { $0.kind == .missing })
    }
    #expect(tried == 3)
  }

  @Test func `A damaged write goes with what it did to its document`() async throws {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let path = try Self.path("c/d")
    try await first.commit([
      .documents(tree, [.put(Self.document(path, 1))]),
      .enqueue(lane, try Self.merge(path, "n", 2)), .enqueue(lane, try Self.merge(path, "k", 3)),
    ])
    let write = try #require(
      try DamageTests.records(store).first { $0.space == Spaces.queue && $0.key.last == 1 })
    try store.damage(write.space, write.key)
    let backend = try Self.open(store)
    _ = try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 9)
    }
    let shown = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    #expect(shown.fields?["n"] == 1 && shown.fields?["k"] == 3)
    #expect(
      try backend.read { (view) throws(StoreError) in try view.incidents() }.map(\.kind)
        == [.writeSetAside])
    while try await backend.tidy(.seconds(1)) {}
    #expect(try backend.verify().isSound)
  }

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

  @Test func `Several damaged writes of a lane go one after the other, and the rest stays`()
    async throws
  {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let path = try Self.path("c/d")
    try await first.commit([.documents(tree, [.put(Self.document(path, 1))])])
    for name in ["a", "b", "c", "d"] {
      try await first.commit([.enqueue(lane, try Self.merge(path, name, 2))])
    }
    for record in try DamageTests.records(store)
    where record.space == Spaces.queue && [1, 3, 4].contains(record.key.last) {
      try store.damage(record.space, record.key)
    }
    for record in try DamageTests.records(store) where record.space == Spaces.overlays {
      try store.damage(record.space, record.key)
    }
    let backend = try Self.open(store)
    let shown = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    let left = try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 9).map(\.id.rawValue)
    }
    #expect(left == [2])
    #expect(shown.fields?["b"] == 2)
    let now = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    #expect(now.fields?.fields.map(\.name) == ["b", "n", "text"])
    try await backend.commit([.purge(lane)])
    while try await backend.tidy(.seconds(1)) {}
    #expect(try backend.verify().isSound)
  }

  /// The overlay of a long name is found through all of its lane.
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

  @Test func `Waiting writes are applied anew over a document that damage took`() async throws {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    let path = try Self.path("c/d")
    let update = try Mutation.update(
      path, [(FieldPath(["n"]), .value(2))], in: Self.database)
    let batch = MutationBatch([update], written: .zero) { _ in Self.document(path, 1) }
    try await first.commit([
      .documents(tree, [.put(Self.document(path, 1))]), .enqueue(lane, batch.payload),
    ])
    let run = try #require(try DamageTests.records(store).first { $0.space == Spaces.runs })
    try store.damage(run.space, run.key)
    let backend = try Self.open(store)
    _ = try backend.readDocuments { (view) throws(StoreError) in try view.document(tree, path) }
    // An update needs a document that exists.
    let shown = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    #expect(shown.state == .unseen)
    while try await backend.tidy(.seconds(1)) {}
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

  @Test func `A tree of documents has no nodes, child keys or sizes of nodes`() async throws {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "documents", order: .documents)
    try await backend.commit([.documents(tree, [.put(Self.document(try Self.path("c/d"), 1))])])
    func code(_ body: () throws -> Void) -> StoreError.Code? {
      do { try body() } catch { return (error as? StoreError)?.code }
      return nil
    }
    for path in [Path.root, "c", "c/d"] as [Path] {
      #expect(code { _ = try backend.node(tree, path) } == .invalid)
      #expect(
        code {
          _ = try backend.read { (view) throws(StoreError) in
            try view.childKeys(tree, path, after: nil, limit: 9)
          }
        } == .invalid)
      #expect(code { _ = try backend.recordBytes(tree, path, nil) } == .invalid)
    }
  }

  @Test func `What a purge leaves without writes may be evicted`() async throws {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let paths = try (0..<20).map { try Self.path("c/d\($0)") }
    try await backend.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1, size: 300)) })
    ])
    // One of them takes no place now, and still needs what is known of its document.
    let create = Mutation(paths[7], .set(["a": 1], []), if: .exists(false))
    let idle = MutationBatch([create], written: .zero) { _ in Self.document(paths[7], 1) }
    try await backend.commit([
      .enqueue(lane, try Self.merge(paths[3], "n", 2)), .enqueue(lane, idle.payload),
    ])
    _ = try await backend.evict(to: 0, dryRun: false)
    func stored() throws -> [DocumentPath] {
      let collection = try CollectionPath("c")
      return try backend.readDocuments { (view) throws(StoreError) in
        try view.documents(tree, in: collection, after: nil, limit: 99)
      }.map(\.path)
    }
    #expect(try stored() == [paths[3], paths[7]].sorted())
    #expect(try backend.verify().isSound)
    try await backend.commit([.purge(lane)])
    _ = try await backend.evict(to: 0, dryRun: false)
    #expect(try stored().isEmpty)
    #expect(try backend.verify().isSound)
  }

  // MARK: Eviction

  @Test func `Eviction leaves what listened queries match and what waiting writes change`()
    async throws
  {
    let store = MemoryStore()
    let backend = try Self.open(store)
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    let long = String(repeating: "long", count: 90)
    let collections = ["a", "a/x/sub", "b/y/sub", "c"]
    let ids = (0..<40).map { "d\($0)" } + [long + "1", long + "2", "__id5__"]
    let paths = try collections.flatMap { name in
      try ids.map { try CollectionPath(name).document($0) }
    }
    try await backend.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1, size: 300)) })
    ])
    // A group's query, and a collection's, each with some matches; writes to others.
    let group = DocumentQuery(.group("sub"), in: Self.database).target
    let single = try DocumentQuery(.collection(CollectionPath("a")), in: Self.database)
      .limited(to: 3).target
    let receipt = try await backend.commit([
      .saveQuery(TrackedQuery(lane, group)), .saveQuery(TrackedQuery(lane, single)),
    ])
    let ofGroup = paths.filter { $0.collection.id == "sub" }.enumerated()
      .filter { $0.offset % 7 == 0 }.map(\.element)
    let ofSingle = paths.filter { $0.collection.description == "a" }.suffix(3)
    try await backend.commit([
      .documents(
        tree,
        [
          .setMatches(receipt.queries[0], ofGroup),
          .setMatches(receipt.queries[1], Array(ofSingle)),
        ])
    ])
    for query in receipt.queries { backend.setActive(true, query, in: tree) }
    let written = try [paths[4], paths[60], Self.path("c/" + long + "2"), Self.path("c/d9")]
    for path in written {
      try await backend.commit([.enqueue(lane, try Self.merge(path, "n", 2))])
    }
    _ = try await backend.evict(to: 0, dryRun: false)
    let left = try backend.readDocuments { (view) throws(StoreError) -> [DocumentPath] in
      var left: [DocumentPath] = []
      for path in paths where try view.document(tree, path).state != .unseen { left.append(path) }
      return left
    }
    let kept = Set(ofGroup + ofSingle + written)
    // Keys that rows cut cover what begins as they do.
    let cut = Set(paths.filter { $0.id.hasPrefix(long) })
    #expect(kept.subtracting(left).isEmpty)
    #expect(Set(left).subtracting(kept).subtracting(cut).isEmpty)
    for path in written {
      let shown = try backend.readDocuments { (view) throws(StoreError) in
        try view.document(lane, path)
      }
      #expect(shown.fields?.count == 2 && shown.fields?["n"] == 2)
    }
    #expect(try backend.verify().isSound)
    // Once a write has ended its document may go.
    let waiting = try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 9).map(\.id)
    }
    try await backend.commit(waiting.map { .finish(lane, $0, .acknowledged) })
    _ = try await backend.evict(to: 0, dryRun: false)
    let gone = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(tree, Self.path2)
    }
    #expect(gone.state == .unseen)
    #expect(try backend.verify().isSound)
  }

  @Test func `A pin of a query keeps what it matches, and a query without matches keeps nothing`()
    async throws
  {
    let store = MemoryStore()
    let backend = try Self.open(store)
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    let paths = try (0..<40).map { try Self.path("c/d\($0)") } + [try Self.path("c/d1/sub/e")]
    let query = DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
    let targets = [
      try query.filtered(.field(FieldPath(dotted: "n"), .equal, 1)).target,
      DocumentQuery(.group("sub"), in: Self.database).target,
      DocumentQuery(.document(paths[30]), in: Self.database).target,
      try query.filtered(.field(FieldPath(dotted: "n"), .equal, 2)).target,
      try query.filtered(.field(FieldPath(dotted: "n"), .equal, 3)).target,
    ]
    try await backend.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1, size: 300)) })
    ])
    let receipt = try await backend.commit(
      targets.map { StorageEdit.saveQuery(TrackedQuery(lane, $0)) })
    let matches = [Array(paths[3...5]), [paths[40]], [paths[30]], Array(paths[4...9]), []]
    try await backend.commit([
      .documents(tree, zip(receipt.queries, matches).map { .setMatches($0, $1) })
    ])
    // The same query of somebody else, of which nothing is known.
    let other = Pin(Lane(tree: tree, identity: "ben"), targets[3])
    try await backend.commit(
      (targets.prefix(3).map { Pin(lane, $0) } + [other]).map { StorageEdit.pin($0) })
    func explanation(_ path: DocumentPath) throws -> SpaceExplanation {
      try backend.explain(tree, DocumentKey.treePath(path))
    }
    let (pinned, tracked) = (try explanation(paths[4]), try explanation(paths[8]))
    #expect(pinned.fate == .stays && pinned.reasons.contains(.pinned(Pin(lane, targets[0]))))
    #expect(tracked.fate == .afterQueries(0) && tracked.reasons.count == 1)
    #expect(try explanation(paths[20]).fate == .first)
    let report = try await backend.evict(to: 0, dryRun: false)
    #expect(
      Set(report.queries.map(\.parameters))
        == Set(targets[3...].map { TrackedQuery(lane, $0).parameters }))
    try backend.readDocuments { (view) throws(StoreError) in
      let kept = Set(matches[..<3].joined())
      for path in paths {
        let state = try view.document(tree, path).state
        #expect((state != .unseen) == kept.contains(path), "\(path)")
      }
      for (id, paths) in zip(receipt.queries, matches).prefix(3) {
        #expect(try view.matches(tree, id) == paths)
      }
    }
    #expect(try backend.verify().isSound)
    // Without its pins all of it may go.
    try await backend.commit(targets.prefix(3).map { StorageEdit.unpin(Pin(lane, $0)) })
    _ = try await backend.evict(to: 0, dryRun: false)
    try backend.readDocuments { (view) throws(StoreError) in
      #expect(try view.collections(tree, after: nil, limit: 9).isEmpty)
    }
    #expect(try backend.verify().isSound)
  }

  // MARK: Indexes that are worth having

  @Test func `An index that is worth making is told once many documents were read in vain`()
    async throws
  {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let query = try DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
      .filtered(.field(FieldPath(dotted: "n"), .lessThan, 10))
    func put(_ numbers: Range<Int>) async throws {
      let edits = try numbers.map {
        DocumentEdit.put(Self.document(try Self.path("c/d\($0)"), Int64($0)))
      }
      try await backend.commit([.documents(tree, edits)])
    }
    func answer() throws -> DocumentAnswer {
      try backend.readDocuments { (view) throws(StoreError) in try view.query(lane, query) }
    }
    try await put(0..<99)
    #expect(try answer().worthwhileIndex == nil)
    try await put(99..<100)
    let index = try #require(try answer().worthwhileIndex)
    #expect(index == (try DocumentIndex("c", [.init(FieldPath(dotted: "n"))])))
    let other = try DocumentIndex("c", [.init(FieldPath(dotted: "text"))])
    try await backend.commit([
      .documents(tree, [.setIndexes([other]), .addIndexes([index, other])])
    ])
    while try await backend.tidy(.milliseconds(50)) {}
    let after = try answer()
    #expect(after.explanation.plan == .indexes([[index]]))
    #expect(after.documents.count == 10 && after.worthwhileIndex == nil)
    let known = try backend.readDocuments { (view) throws(StoreError) in
      try view.documentIndexes(tree).map(\.index)
    }
    #expect(known == [other, index])
    // Most of what is read is found: an index would spare little.
    try await backend.commit([.documents(tree, [.setIndexes([])])])
    let wide = try DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
      .filtered(.field(FieldPath(dotted: "n"), .lessThan, 30))
    let found = try backend.readDocuments { (view) throws(StoreError) in try view.query(lane, wide)
    }
    #expect(found.explanation.hint == index && found.worthwhileIndex == nil)
  }

  private static var collection: CollectionPath { path2.collection }

  private static var path2: DocumentPath {
    DocumentPath(collection: "c", id: "d9") ?? { preconditionFailure("a path") }()
  }

  // MARK: Long queues

  @Test func `What a query costs does not depend on the writes that wait elsewhere`() async throws {
    let probe = ProbeStore()
    let backend = try PackedBackend(
      probe, name: "probe", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let paths = try (0..<100).map { try Self.path("c/d\($0)") }
    try await backend.commit([.documents(tree, paths.map { .put(Self.document($0, 1)) })])
    let query = DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
    func cost() throws -> Int {
      try probe.counting {
        let answer = try backend.readDocuments { (view) throws(StoreError) in
          try view.query(lane, query)
        }
        #expect(answer.documents.count == 100)
      }
    }
    _ = try cost()
    let before = try cost()
    for batch in 0..<20 {
      try await backend.commit(
        try (0..<100).map {
          .enqueue(lane, try Self.merge(try Self.path("other/d\(batch * 100 + $0)"), "n", 1))
        })
    }
    #expect(try cost() <= before + 2)
    #expect(try backend.verify().isSound)
  }
}
