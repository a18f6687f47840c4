import ConiferDocument
import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Documents that a later version stored: reading them is refused with an error that says so, they stay as they are, and
/// all else goes on.
@Suite struct NewerDocumentTests {
  private typealias Samples = DocumentSamples

  /// What only a later version knows.
  enum Novelty: CaseIterable, Sendable {
    case state, value, nestedValue
    case stateInChunks, valueInChunks

    var isLarge: Bool { self == .stateInChunks || self == .valueInChunks }

    /// Bytes of the document `n: 1, x: [true]`, and the last one as it is then.
    var change: (bytes: Bytes, last: UInt8) {
      switch self {
      // The tag of the leaf, and the state behind the size of its body.
      case .state, .stateInChunks: ([], 4)
      case .value, .valueInChunks: ([1, UInt8(ascii: "n"), 3], 15)
      case .nestedValue: ([1, UInt8(ascii: "x"), 10, 1, 2], 0x7F)
      }
    }

    func applied(to value: Bytes) throws -> Bytes {
      var value = value
      let (bytes, last) = change
      var reader = ByteReader(value, from: 1)
      _ = reader.size()
      let state = value.count - reader.remaining
      guard !bytes.isEmpty else {
        value[state] = value[state] & 0xC0 | last
        return value
      }
      let place = try #require(
        (state...(value.count - bytes.count)).first {
          value[$0..<($0 + bytes.count)].elementsEqual(bytes)
        })
      value[place + bytes.count - 1] = last
      return value
    }
  }

  /// A document of a later version, another one, and a waiting write to each.
  private struct Forged {
    let store = MemoryStore()
    let backend: MemoryBackend
    let lane: Lane
    let newer: DocumentPath
    let other = Samples.path("c/other")
    /// Its overlay has a row with a cut key.
    let long = Samples.path("c/\(Samples.long)")
    private(set) var record: (space: Space, key: Bytes, value: Bytes)

    init(_ novelty: Novelty, indexed: Bool = false) async throws {
      // Without compression a changed record is as long as it was.
      backend = try MemoryBackend(
        store, name: "memory", options: StorageOptions(compression: .none))
      let tree = try await backend.tree(named: "documents", order: .documents)
      lane = Lane(tree: tree, identity: "ann")
      newer = Samples.path("c/newer")
      let fields: MapValue = ["n": 1, "x": [true]]
      var large = fields
      large["z"] = .bytes(Bytes(repeating: 7, count: LargeLeaf.threshold))
      try await backend.commit([
        .documents(
          tree,
          [
            .put(Document(newer, .found(novelty.isLarge ? large : fields))),
            .put(Document(other, .found(fields))), .put(Document(long, .found(fields))),
          ])
      ])
      if indexed {
        let index = try DocumentIndex(
          "c", [DocumentIndex.Field(Samples.field("n"), .ascending)])
        try await backend.commit([.documents(tree, [.setIndexes([index])])])
      }
      record = (Spaces.runs, [], [])
      for path in [newer, other, long] {
        try await backend.commit([.enqueue(lane, merge(path, 2))])
      }
      // Not in a delta.
      while try await backend.tidy(.seconds(1)) {}
      record = try forge(novelty)
      var batch = Batch()
      batch.put(record.space, record.key, record.value)
      _ = try store.apply(batch, .relaxed)
    }

    func merge(_ path: DocumentPath, _ value: Int64) throws -> WritePayload {
      let write = try Mutation.merge(path, [("n", .value(.integer(value)))], in: Samples.database)
      return MutationBatch([write], written: .zero) { Document($0, .unseen) }.payload
    }

    /// The record of the document with what only a later version knows.
    private func forge(_ novelty: Novelty) throws -> (space: Space, key: Bytes, value: Bytes) {
      let leaves = LeafStore(store, .none)
      let view = try leaves.openSnapshot()
      defer { view.close() }
      let reader = RunReader(view: view, tree: lane.tree)
      let key = DocumentKey.encode(newer)
      let head = try #require(try reader.run(covering: key))
      let entries = try reader.entries(head)
      if novelty.isLarge {
        let entry = try #require(entries.first { $0.key == key })
        let reference = try #require(LargeLeafReference(entry.value))
        let content = try novelty.applied(to: LargeLeaf.read(reader, reference))
        let prefix = LargeLeaf.prefix(lane.tree, reference.number)
        let chunk = try #require(try view.keys(Spaces.chunks, prefix: prefix, limit: 1).first)
        var writer = ByteWriter()
        writer.byte(0)  // It is not compressed.
        writer.varint(LargeLeaf.threshold)
        writer.append(Bytes(content.prefix(LargeLeaf.threshold)))
        return (Spaces.chunks, chunk, Record.seal(Spaces.chunks, chunk, writer.bytes))
      }
      var changed = EntryList()
      for entry in entries {
        changed.append(
          entry.key == key
            ? Entry(key: key, value: try novelty.applied(to: entry.value)) : entry)
      }
      let forged = RunHead(
        storeKey: head.storeKey, fullSeparator: [], number: head.number,
        RunHead.Packed(changed, 0..<changed.count, Packing(Codec(level: nil))))
      return (Spaces.runs, head.storeKey, forged.value)
    }

    func shown(_ path: DocumentPath) throws -> DocumentValue? {
      try backend.readDocuments { (view) throws(StoreError) in
        try view.document(lane, path).fields?["n"]
      }
    }

    func overlay(_ path: DocumentPath) throws -> Bytes? {
      let view = try store.view()
      return try view.value(Spaces.overlays, OverlayRows(view: view, lane: lane).key(path))
    }

    func expectRefused(_ body: () async throws -> Void) async {
      let error = await #expect(throws: StoreError.self) { try await body() }
      #expect(error?.code == .newerFormat && error?.message.isEmpty == false)
    }

    /// Requires that the record is as it was, and that nothing was told as damage.
    func expectKept() throws {
      #expect(try store.view().value(record.space, record.key) == record.value)
      #expect(try Incidents.all(try store.view()).isEmpty)
    }
  }

  @Test(arguments: Novelty.allCases)
  func `Is refused and stays`(_ novelty: Novelty) async throws {
    let forged = try await Forged(novelty)
    let (backend, lane, path) = (forged.backend, forged.lane, forged.newer)
    let query = DocumentQuery(.collection(Samples.collection("c")), in: Samples.database)
    for _ in 0..<2 {
      await forged.expectRefused { _ = try forged.shown(path) }
      await forged.expectRefused {
        _ = try backend.readDocuments { (view) throws(StoreError) in try view.query(lane, query) }
      }
    }
    // What it does to that document is not known.
    let row = try forged.overlay(path)
    await forged.expectRefused { try await backend.commit([.enqueue(lane, forged.merge(path, 3))]) }
    #expect(try forged.overlay(path) == row && row != nil)
    #expect(try forged.shown(forged.other) == 2)
    try await backend.commit([.enqueue(lane, forged.merge(forged.other, 4))])
    #expect(try forged.shown(forged.other) == 4)
    while try await backend.tidy(.milliseconds(50)) {}
    let report = try backend.verify()
    #expect(report.isSound && report.counts.unknown == 1, "\(report.findings)")
    try forged.expectKept()
  }

  @Test(arguments: Novelty.allCases)
  func `Answers and the server's word go on`(_ novelty: Novelty) async throws {
    let forged = try await Forged(novelty)
    let (backend, lane, path) = (forged.backend, forged.lane, forged.newer)
    // Another write waits: the overlay stays as it is.
    let row = try forged.overlay(path)
    try await backend.commit([.finish(lane, WriteID(rawValue: 2), .acknowledged)])
    #expect(try forged.shown(forged.other) == 1)
    #expect(try forged.overlay(path) == row && row != nil)
    try await backend.commit([.finish(lane, WriteID(rawValue: 1), .acknowledged)])
    #expect(try forged.overlay(path) == nil)
    await forged.expectRefused { _ = try forged.shown(path) }
    try forged.expectKept()
    try await backend.commit([.documents(lane.tree, [.put(Document(path, .found(["n": 9])))])])
    #expect(try forged.shown(path) == 9)
    #expect(try Incidents.all(try forged.store.view()).isEmpty)
    while try await backend.tidy(.milliseconds(50)) {}
    let report = try backend.verify()
    #expect(report.isSound && report.counts.unknown == 0, "\(report.findings)")
  }

  /// What its rows were is not known.
  @Test(arguments: Novelty.allCases)
  func `Is not replaced where an index has it`(_ novelty: Novelty) async throws {
    let forged = try await Forged(novelty, indexed: true)
    let backend = forged.backend
    for path in [forged.newer, forged.other] {
      let isNewer = path == forged.newer
      let edit = StorageEdit.documents(
        forged.lane.tree, [.put(Document(path, .found(["n": 9])))])
      if isNewer {
        await forged.expectRefused { try await backend.commit([edit]) }
        try forged.expectKept()
      } else {
        try await backend.commit([edit])
      }
    }
    #expect(try Incidents.all(try forged.store.view()).isEmpty)
    let report = try backend.verify()
    #expect(report.isSound && report.counts.unknown == 1, "\(report.findings)")
  }

  @Test(arguments: Novelty.allCases)
  func `Overlays beside it are made anew after damage`(_ novelty: Novelty) async throws {
    let forged = try await Forged(novelty)
    let key = OverlayRows(view: try forged.store.view(), lane: forged.lane).key(forged.long)
    var batch = Batch()
    batch.put(Spaces.overlays, key, [1, 2, 3])
    _ = try forged.store.apply(batch, .relaxed)
    let row = try forged.overlay(forged.newer)
    // Its row does not tell its document: all rows of the lane are made anew.
    #expect(try forged.shown(forged.long) == 2)
    #expect(try forged.shown(forged.other) == 2)
    #expect(try forged.overlay(forged.newer) == row && row != nil)
    #expect(
      try forged.store.view().value(forged.record.space, forged.record.key) == forged.record.value)
  }
}
