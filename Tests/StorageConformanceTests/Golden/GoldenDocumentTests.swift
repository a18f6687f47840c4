import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import StorageConformance
import TestSupport
import Testing

@testable import ConiferStorage

/// Stores of documents that earlier versions wrote are read for ever.
///
/// `CONIFER_GOLDEN=write` makes those that are missing; what is there is never written again.
@Suite("Golden stores of documents", .enabled(if: Codec.hasZstd))
struct GoldenDocumentTests {
  private func files(_ kind: GoldenBackend) -> String {
    "\(GoldenBackend.fixtures)/\(kind.rawValue)/documents-1"
  }

  @Test(
    "A missing golden store is written when asked for",
    .enabled(if: Files.variable("CONIFER_GOLDEN") == "write"), arguments: GoldenBackend.allCases)
  func write(_ kind: GoldenBackend) async throws {
    try #require(Files.names(files(kind)).isEmpty, "\(files(kind)) is there and stays as it is")
    let made = try await GoldenDocuments.make(kind, try Scratch().path)
    let size = made.reduce(0) { $0 + $1.bytes.count }
    try #require(
      size <= 300_000,
      "\(kind) takes \(size) bytes: \(made.map { ($0.name, $0.bytes.count) })")
    Files.write(made, files(kind))
  }

  private func copy(_ kind: GoldenBackend) throws -> Scratch {
    let files = Files.all(files(kind))
    try #require(!files.isEmpty, "there is no golden store in \(self.files(kind))")
    let scratch = try Scratch()
    Files.write(files, scratch.store)
    return scratch
  }

  private func expect(_ backend: any StorageBackend, _ model: StorageModel, _ when: String) throws {
    let difference = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try StateDifference(view, ModelView(model)).first()
    }
    #expect(difference == nil, "\(when)")
    let report = try #require(backend as? any VerifyingBackend).verify()
    #expect(report.isSound, "\(when): \(report.findings)")
  }

  @Test("It holds what it always held, and is written to", arguments: GoldenBackend.allCases)
  func opens(_ kind: GoldenBackend) async throws {
    let scratch = try copy(kind)
    var model = try GoldenDocuments.model()
    var backend = try kind.open(scratch.store)
    try expect(backend, model, "as it was")
    let states = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try view.documentIndexes(GoldenDocuments.tree).map(\.state)
    }
    #expect(states == [.ready, .ready, .ready])
    let (tree, lane) = (GoldenDocuments.tree, GoldenDocuments.lanes[1])
    let write = Mutation(try DocumentPath("rooms/r1"), .delete)
    let batch = MutationBatch([write], written: .zero) { Document($0, .unseen) }
    let edits: [StorageEdit] = [
      .documents(
        tree,
        [
          .put(Document(try DocumentPath("rooms/r7"), .found(["n": 100, "tags": [5]]))),
          .forget(try DocumentPath("kinds/large")),
        ]), .enqueue(lane, batch.payload), .purge(GoldenDocuments.lanes[0]),
    ]
    let expected = try model.commit(edits)
    let receipt = try await backend.commit(edits)
    #expect(receipt.writes == expected.writes && receipt.writes == [WriteID(rawValue: 9)])
    try expect(backend, model, "after a commit")
    while try await backend.tidy(.seconds(1)) {}
    try await backend.close()
    backend = try kind.open(scratch.store)
    try expect(backend, model, "after housekeeping")
    try await backend.close()
  }

  @Test("It holds every kind of record of documents", arguments: GoldenBackend.allCases)
  func isComplete(_ kind: GoldenBackend) throws {
    let scratch = try copy(kind)
    let store = try kind.store(scratch.store)
    let view = try store.view()
    let spaces = [
      Spaces.runs, Spaces.queue, Spaces.finished, Spaces.queries, Spaces.queryKeys, Spaces.pins,
      Spaces.indexes, Spaces.overlays,
    ]
    for space in spaces {
      #expect(try view.entries(space, prefix: [], limit: 1).count == 1, "space \(space.id)")
    }
    let runs = try view.entries(Spaces.runs, prefix: []).compactMap {
      try? RunHead(storeKey: $0.key, value: $0.value)
    }
    #expect(runs.contains { $0.flags & RunHead.hasLargeLeaves != 0 })
    view.close()
    try store.close()
  }
}
