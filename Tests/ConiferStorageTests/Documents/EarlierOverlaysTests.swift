import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage

/// Stores from before the first release have overlays by path.
@Suite struct EarlierOverlaysTests {
  private static let paths = ["c/a", "c/b", "d/x/c/a", "e/1"]

  private static func payload(_ path: DocumentPath, _ value: DocumentValue) -> WritePayload {
    let write = Mutation(path, .set(["n": value], []))
    return MutationBatch(written: .zero, bases: [], mutations: [write]).payload
  }

  /// Moves the overlays of lanes to where earlier versions had them.
  private static func move(_ backend: MemoryBackend, _ lanes: [Lane]) async throws {
    try await backend.run { (engine) throws(StoreError) in
      try engine.writer.change(.relaxed) { (tx) throws(StoreError) in
        for lane in lanes {
          let rows = OverlayRows(view: tx, lane: lane)
          for (key, value) in try tx.entries(Spaces.overlays, prefix: rows.prefix) {
            let row = OverlayRows.Row(space: Spaces.overlays, key: key, value: value)
            guard let payload = Record.open(row.space, key, value), let path = OverlayRows.path(row)
            else { throw Damage.error(Spaces.overlays, key) }
            try tx.delete(Spaces.overlays, key)
            let earlier = rows.key(Spaces.earlierOverlays, path)
            try tx.put(Spaces.earlierOverlays, earlier, payload: payload)
          }
        }
      }
    }
  }

  private static func shown(
    _ backend: MemoryBackend, _ lane: Lane, _ source: DocumentQuery.Source
  ) throws -> [String: DocumentValue?] {
    let answer = try backend.readDocuments { (view) throws(StoreError) in
      try view.query(lane, DocumentQuery(source, in: DatabaseID(project: "p")))
    }
    return Dictionary(
      uniqueKeysWithValues: answer.documents.map { ($0.path.description, $0.fields?["n"]) })
  }

  @Test(arguments: [0, 1, 2])
  func `They are read where they are, and go with the writes`(damaged: Int) async throws {
    let store = MemoryStore()
    let first = try IndexTests.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lanes = [
      Lane(tree: tree), Lane(tree: tree, identity: "ann"), Lane(tree: tree, identity: "bob"),
    ]
    for (number, lane) in lanes.enumerated() {
      for path in Self.paths {
        try await first.commit([
          .enqueue(lane, Self.payload(try DocumentPath(path), .integer(Int64(number))))
        ])
      }
    }
    try await Self.move(first, lanes)
    func keys(_ space: Space) throws -> [Bytes] { try store.view().keys(space, prefix: []) }
    #expect(try keys(Spaces.earlierOverlays).count == 12)
    #expect(try keys(Spaces.overlays).isEmpty)
    if damaged > 0 {
      try store.damage(Spaces.earlierOverlays, keys(Spaces.earlierOverlays)[damaged * 4])
    }
    let backend = try IndexTests.open(store)
    #expect(try keys(Spaces.earlierOverlays).count == 12)
    for (number, lane) in lanes.enumerated() {
      let value = DocumentValue.integer(Int64(number))
      #expect(
        try Self.shown(backend, lane, .group("c")) == [
          "c/a": value, "c/b": value, "d/x/c/a": value,
        ])
      #expect(
        try Self.shown(backend, lane, .collection(CollectionPath("c"))) == [
          "c/a": value, "c/b": value,
        ])
      #expect(try Self.shown(backend, lane, .document(DocumentPath("e/1"))) == ["e/1": value])
    }
    #expect(try backend.verify().isSound)
    #expect(try Incidents.all(store.view()).isEmpty)
    // The next write to a document moves its row.
    try await backend.commit([.enqueue(lanes[0], Self.payload(try DocumentPath("c/a"), 9))])
    #expect(try Self.shown(backend, lanes[0], .group("c"))["c/a"] == 9)
    #expect(try backend.verify().isSound)
    for lane in lanes {
      for number in UInt64(1)...4 {
        try await backend.commit([.finish(lane, WriteID(rawValue: number), .acknowledged)])
        #expect(try backend.verify().isSound)
      }
    }
    #expect(try keys(Spaces.earlierOverlays).isEmpty)
    #expect(try keys(Spaces.overlays).count == 1)
  }

  @Test(arguments: Seeded.seeds(20))
  func `Where a row is changes nothing of what is shown`(seed: UInt64) async throws {
    var random = Seeded(seed)
    let (plain, moved) = (MemoryStore(), MemoryStore())
    let backends = [try IndexTests.open(plain), try IndexTests.open(moved)]
    let tree = try await backends[0].tree(named: "documents", order: .documents)
    _ = try await backends[1].tree(named: "documents", order: .documents)
    var other = backends[1]
    let lanes = [Lane(tree: tree), Lane(tree: tree, identity: String(repeating: "ä", count: 128))]
    let long = String(repeating: "long", count: 60)
    let more = ["\(long)/1", "d/x/\(long)/1", "d/\(long)/c/a", "c\0/a", "d/x/7/a", "7/b"]
    let paths = try (Self.paths + more).map { try DocumentPath($0) }
    var waiting: [Lane: [WriteID]] = [:]
    for step in 1...60 {
      let lane = random.pick(lanes)
      let path = random.pick(paths)
      let value = DocumentValue.integer(Int64(step))
      var edits: [StorageEdit] = []
      switch random.below(8) {
      case 0...3:
        let write = try random.pick([
          Mutation(path, .set(["n": value], [])), Mutation(path, .delete),
          .merge(path, [("m", .value(value)), ("n", .increment(1))], in: DatabaseID(project: "p")),
        ])
        let batch = MutationBatch(written: .zero, bases: [], mutations: [write])
        edits = [.enqueue(lane, batch.payload)]
      case 4, 5:
        guard let id = waiting[lane]?.first else { continue }
        waiting[lane]?.removeFirst()
        edits = [.finish(lane, id, .acknowledged)]
      case 6: edits = [.documents(tree, [.put(Document(path, .found(["n": value, "k": 1])))])]
      default: edits = [.documents(tree, [.forget(path)])]
      }
      let receipt = try await backends[0].commit(edits)
      #expect(try await other.commit(edits).writes == receipt.writes)
      waiting[lane, default: []] += receipt.writes
      if random.chance(20) {
        try await Self.move(other, lanes)
        other = try IndexTests.open(moved)
      }
      for lane in lanes {
        func state(_ backend: MemoryBackend) throws -> [String] {
          try backend.readDocuments { (view) throws(StoreError) in
            var state = try view.overlays(lane, in: nil).map { "\($0)" }
            for path in paths { state.append("\(try view.document(lane, path).fields as Any)") }
            state += try view.overlaidPaths(lane, in: nil).map(\.description)
            return state
          }
        }
        #expect(try state(other) == state(backends[0]), "seed \(seed), step \(step)")
      }
    }
    let report = try other.verify()
    #expect(report.isSound, "seed \(seed): \(report.findings)")
  }

  @Test func `A lane that is purged takes its earlier overlays along`() async throws {
    let store = MemoryStore()
    let backend = try IndexTests.open(store)
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    try await backend.commit([.enqueue(lane, Self.payload(try DocumentPath("c/a"), 1))])
    try await Self.move(backend, [lane])
    try await backend.commit([.purge(lane)])
    #expect(try backend.verify().isSound)
    #expect(try store.view().keys(Spaces.earlierOverlays, prefix: []).isEmpty)
  }
}
