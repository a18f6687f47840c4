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
            guard let payload = Record.open(Spaces.overlays, key, value),
              let path = rows.document(key)
            else { throw Damage.error(Spaces.overlays, key) }
            try tx.delete(Spaces.overlays, key)
            let earlier = rows.prefix + DocumentKey.encode(path)
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
  func `Opening makes them anew from the queue, each lane for itself`(damaged: Int) async throws {
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
    #expect(try !first.verify().isSound)
    // Earlier rows are not read, so damage of one is none of what is shown.
    let keys = try store.view().keys(Spaces.earlierOverlays, prefix: [])
    #expect(keys.count == 12)
    if damaged > 0 { try store.damage(Spaces.earlierOverlays, keys[damaged * 4]) }
    let backend = try IndexTests.open(store)
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
    }
    #expect(try store.view().keys(Spaces.earlierOverlays, prefix: []).isEmpty)
    #expect(try backend.verify().isSound)
    #expect(try Incidents.all(store.view()).isEmpty)
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
