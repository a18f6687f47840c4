import ConiferDocument
import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Documents in a store: their keys and bytes, what a query costs, and, in other files, damage, eviction and indexes.
@Suite struct DocumentStoreTests {
  static let database = DatabaseID(project: "p")

  static func path(_ text: String) throws -> DocumentPath { try DocumentPath(text) }

  static func open(
    _ store: MemoryStore, _ role: StoreRole = .cache
  ) throws -> MemoryBackend {
    try MemoryBackend(
      store, name: "memory",
      options: StorageOptions(budget: nil, compression: .none, role: role))
  }

  static func document(_ path: DocumentPath, _ number: Int64, size: Int = 8) -> Document {
    Document(
      path, .found(["n": .integer(number), "text": .string(String(repeating: "x", count: size))]))
  }

  static func merge(_ path: DocumentPath, _ name: String, _ value: Int64) throws
    -> WritePayload
  {
    let write = try Mutation.merge(path, [(name, .value(.integer(value)))], in: database)
    return MutationBatch([write], written: .zero) { Document($0, .unseen) }.payload
  }

  static var collection: CollectionPath { path2.collection }

  static var path2: DocumentPath {
    DocumentPath(collection: "c", id: "d9") ?? { preconditionFailure("a path") }()
  }

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
    #expect(
      try OverlayRows.overlay(
        .init(space: Spaces.overlays, key: key, value: Record.seal(Spaces.overlays, key, old)))
        == overlay)
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

  @Test(arguments: [DocumentQuery.Source.collection(collection), .group("c")])
  func `What a query costs does not depend on the writes that wait elsewhere`(
    source: DocumentQuery.Source
  ) async throws {
    let probe = ProbeStore()
    let backend = try PackedBackend(
      probe, name: "probe", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let paths = try (0..<100).map { try Self.path("c/d\($0)") }
    try await backend.commit([.documents(tree, paths.map { .put(Self.document($0, 1)) })])
    let query = DocumentQuery(source, in: Self.database)
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

  @Test func `A refused write that makes its document too large is not queued again`() async throws
  {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "documents", order: .documents)
    let (lane, path) = (Lane(tree: tree), try Self.path("c/d"))
    func write(_ name: String) throws -> StorageEdit {
      let text = DocumentValue.string(String(repeating: "x", count: 700_000))
      let write = try Mutation.merge(path, [(name, .value(text))], in: Self.database)
      return .enqueue(
        lane, MutationBatch([write], written: .zero) { Document($0, .unseen) }.payload)
    }
    let first = try await backend.commit([write("a")]).writes[0]
    try await backend.commit([.setState(lane, first, .rejected(reason: "no"))])
    let second = try await backend.commit([write("b")]).writes[0]
    let error = await #expect(throws: StoreError.self) {
      try await backend.commit([.setState(lane, first, .queued)])
    }
    #expect(error?.code == .tooLarge)
    #expect(try backend.verify().isSound)
    // Once there is room, it is.
    try await backend.commit([.finish(lane, second, .discarded)])
    try await backend.commit([.setState(lane, first, .queued)])
    let shown = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    #expect(shown.fields?["a"] != nil && shown.fields?["b"] == nil)
    try await backend.close()
  }
}
