import ConiferDocument
import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Records that a later version wrote are refused with an error that says so, and stay: they are
/// not damaged.
@Suite struct LaterVersionTests {
  private let tree = TreeID(rawValue: 1)

  /// Changes one byte of a record's payload and seals it again.
  private func change(
    _ store: MemoryStore, _ space: Space, _ key: Bytes, at index: Int, to byte: UInt8
  ) throws -> Bytes {
    let value = try #require(try store.view().value(space, key))
    var payload = try #require(Record.open(space, key, value))
    payload[index] = byte
    let newer = Record.seal(space, key, payload)
    var batch = Batch()
    batch.put(space, key, newer)
    _ = try store.apply(batch, .relaxed)
    return newer
  }

  @Test(arguments: [0, 1, 2]) func `Runs`(at index: Int) async throws {
    let store = try await DamageTests.filled()
    for key in try store.keys(Spaces.runs) {
      let newer = try change(store, Spaces.runs, key, at: index, to: 0x40)
      try await expectRefused(store, Spaces.runs, key, newer)
    }
  }

  @Test func `Deltas and parts`() async throws {
    for space in [Spaces.deltas, Spaces.chunks] {
      let store = try await DamageTests.filled()
      let key = try #require(try store.keys(space).first)
      let newer = try change(store, space, key, at: 0, to: 0x40)
      try await expectRefused(store, space, key, newer)
    }
  }

  private func expectRefused(
    _ store: MemoryStore, _ space: Space, _ key: Bytes, _ value: Bytes
  ) async throws {
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let error = #expect(throws: StoreError.self) {
      try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
    }
    #expect(error?.code == .unsupported)
    #expect(try store.view().value(space, key) == value)
  }

  @Test func `The key order of a tree`() async throws {
    let store = try await DamageTests.filled()
    let key: Bytes = [0, 0, 0, 0, UInt8(ascii: "t"), 0, 0, 0, 1]
    _ = try change(store, Spaces.system, key, at: 0, to: 9)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let error = #expect(throws: StoreError.self) {
      try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
    }
    #expect(error?.code == .newerFormat)
  }

  @Test func `Parts of queued writes`() async throws {
    let store = try await DamageTests.filled()
    let key = try #require(try store.keys(Spaces.queueParts).first)
    _ = try change(store, Spaces.queueParts, key, at: 0, to: 0x40)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let lane = Lane(tree: tree, identity: "ann")
    let error = #expect(throws: StoreError.self) {
      try backend.read { (view) throws(StoreError) in
        try view.write(lane, WriteID(rawValue: 6))
      }
    }
    #expect(error?.code == .unsupported)
    #expect(try Incidents.all(try store.view()).isEmpty)
  }

  // MARK: Writes to documents

  /// Two documents in which 1 is `n`, and a waiting write to each that makes it 2.
  private struct Writes {
    let store = MemoryStore()
    let backend: MemoryBackend
    let lane: Lane
    let paths: [DocumentPath]

    init() async throws {
      backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
      let tree = try await backend.tree(named: "documents", order: .documents)
      lane = Lane(tree: tree, identity: "ann")
      paths = try ["c/d1", "c/d2"].map { try DocumentPath($0) }
      for path in paths {
        try await backend.commit([
          .documents(tree, [.put(Document(path, .found(["n": 1])))]),
          .enqueue(lane, merge(path, 2)),
        ])
      }
    }

    func merge(_ path: DocumentPath, _ value: Int64) throws -> WritePayload {
      let write = try Mutation.merge(
        path, [("n", .value(.integer(value)))], in: DatabaseID(project: "p"))
      return MutationBatch([write], written: .zero) { Document($0, .unseen) }.payload
    }

    var queueKeys: [Bytes] {
      get throws {
        try store.keys(Spaces.queue).filter { $0.starts(with: QueueReader.prefix(lane) + [1]) }
      }
    }

    func shown(_ path: DocumentPath, _ again: MemoryBackend? = nil) throws -> DocumentValue? {
      try (again ?? backend).readDocuments { (view) throws(StoreError) in
        try view.document(lane, path).fields?["n"]
      }
    }

    /// Requires that commits and reads are refused as of a newer format.
    func expectRefused(_ body: () async throws -> Void) async {
      let error = await #expect(throws: StoreError.self) { try await body() }
      #expect(error?.code == .newerFormat && error?.message.isEmpty == false)
    }

    /// Requires that housekeeping, a check and opening again leave a record as it is, and tell no damage.
    func expectKept(_ space: Space, _ key: Bytes, _ value: Bytes, unknown: Int) async throws {
      while try await backend.tidy(.milliseconds(50)) {}
      let report = try backend.verify()
      #expect(report.isSound && report.counts.unknown == unknown, "\(report.findings)")
      let again = try MemoryBackend(store, name: "memory", options: StorageOptions())
      #expect(try shown(paths[1], again) == 2)
      #expect(try store.view().value(space, key) == value)
      #expect(try Incidents.all(try store.view()).isEmpty)
    }
  }

  @Test func `What waiting writes do to a document`() async throws {
    let writes = try await Writes()
    let (backend, lane, path) = (writes.backend, writes.lane, writes.paths[0])
    let key = OverlayRows(view: try writes.store.view(), lane: lane).key(path)
    // Behind the path is what is done: of the kinds 1 to 3, with a flag.
    let newer = try change(writes.store, Spaces.overlays, key, at: 5, to: 0x84)
    await writes.expectRefused { _ = try writes.shown(path) }
    let query = DocumentQuery(.collection(try CollectionPath("c")), in: DatabaseID(project: "p"))
    await writes.expectRefused {
      _ = try backend.readDocuments { (view) throws(StoreError) in try view.query(lane, query) }
    }
    await writes.expectRefused {
      _ = try await backend.commit([.enqueue(lane, try writes.merge(path, 3))])
    }
    // All else goes on, also what the server says of that document.
    try await backend.commit([
      .documents(lane.tree, [.put(Document(path, .found(["n": 7])))])
    ])
    #expect(try writes.shown(writes.paths[1]) == 2)
    let (server, waiting) = try backend.readDocuments { (view) throws(StoreError) in
      (try view.document(lane.tree, path), try view.entries(lane, after: nil, limit: 9).count)
    }
    #expect(server.fields?["n"] == 7 && waiting == 2)
    let other = Document(try DocumentPath("c/d3"), .found(["n": 3]))
    try await backend.commit([
      .documents(lane.tree, [.put(other)]), .enqueue(lane, try writes.merge(other.path, 4)),
    ])
    #expect(try writes.shown(other.path) == 4)
    try await writes.expectKept(Spaces.overlays, key, newer, unknown: 1)
    // The end of its last write ends it.
    try await backend.commit([.finish(lane, WriteID(rawValue: 1), .acknowledged)])
    #expect(try writes.shown(path) == 7)
  }

  @Test func `What waiting writes do to a document, while another write is lost`() async throws {
    let writes = try await Writes()
    let (backend, lane, path) = (writes.backend, writes.lane, writes.paths[0])
    let key = OverlayRows(view: try writes.store.view(), lane: lane).key(path)
    let newer = try change(writes.store, Spaces.overlays, key, at: 5, to: 0x84)
    // All of the lane is made anew when the record of the other write is set aside.
    let lost = try #require(try writes.queueKeys.last)
    var value = try #require(try writes.store.view().value(Spaces.queue, lost))
    value[value.count / 2] ^= 0x40
    var batch = Batch()
    batch.put(Spaces.queue, lost, value)
    _ = try writes.store.apply(batch, .relaxed)
    let entries = try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 9)
    }
    #expect(entries.map(\.id.rawValue) == [1])
    #expect(try writes.shown(writes.paths[1]) == 1)
    #expect(try writes.store.view().value(Spaces.overlays, key) == newer)
    await writes.expectRefused { _ = try writes.shown(path) }
    try await backend.commit([.finish(lane, WriteID(rawValue: 1), .acknowledged)])
    #expect(try writes.shown(path) == 1)
  }

  @Test func `Writes to documents`() async throws {
    let writes = try await Writes()
    let (backend, lane, path) = (writes.backend, writes.lane, writes.paths[0])
    let key = try #require(try writes.queueKeys.first)
    let value = try #require(try writes.store.view().value(Spaces.queue, key))
    let payload = try #require(Record.open(Spaces.queue, key, value))
    let batch = try writes.merge(path, 2).bytes
    let place = try #require(
      (0...(payload.count - batch.count)).first {
        payload[$0..<($0 + batch.count)].elementsEqual(batch)
      })
    let newer = try change(writes.store, Spaces.queue, key, at: place, to: 2)
    // It is listed, is no batch for this version, and cannot be queued by it.
    let entries = try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 9)
    }
    #expect(entries.map { MutationBatch($0.payload) == nil } == [true, false])
    #expect(entries[0].payload.bytes == [2] + batch.dropFirst())
    let refused = await #expect(throws: StoreError.self) {
      try await backend.commit([.enqueue(lane, entries[0].payload)])
    }
    #expect(refused?.code == .invalid)
    // What it does stays shown until the document changes, and then is not known here.
    #expect(try writes.shown(path) == 2)
    try await writes.expectKept(Spaces.queue, key, newer, unknown: 1)
    try await backend.commit([
      .documents(lane.tree, [.put(Document(path, .found(["n": 5])))]),
      .finish(lane, WriteID(rawValue: 2), .acknowledged),
      .enqueue(lane, try writes.merge(writes.paths[1], 2)),
    ])
    #expect(try writes.shown(path) == 5)
    try await writes.expectKept(Spaces.queue, key, newer, unknown: 1)
  }

  @Test func `Records of writes to documents`() async throws {
    let writes = try await Writes()
    let (backend, lane, path) = (writes.backend, writes.lane, writes.paths[0])
    let key = try #require(try writes.queueKeys.first)
    let newer = try change(writes.store, Spaces.queue, key, at: 0, to: 3)
    await writes.expectRefused {
      _ = try backend.read { (view) throws(StoreError) in
        try view.entries(lane, after: nil, limit: 9)
      }
    }
    await writes.expectRefused {
      _ = try await backend.commit([
        .documents(lane.tree, [.put(Document(path, .found(["n": 5])))])
      ])
    }
    #expect(try writes.shown(path) == 2)
    try await backend.commit([
      .finish(lane, WriteID(rawValue: 2), .acknowledged),
      .enqueue(lane, try writes.merge(writes.paths[1], 2)),
    ])
    try await writes.expectKept(Spaces.queue, key, newer, unknown: 1)
  }
}
