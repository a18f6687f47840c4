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
  static let all = GoldenBackend.allCases.flatMap { kind in
    GoldenDocuments.stores.map { (kind, $0) }
  }

  private func files(_ kind: GoldenBackend, _ number: Int) -> String {
    "\(GoldenBackend.fixtures)/\(kind.rawValue)/documents-\(number)"
  }

  @Test(
    "A missing golden store is written when asked for",
    .enabled(if: Files.variable("CONIFER_GOLDEN") == "write"), arguments: GoldenBackend.allCases)
  func write(_ kind: GoldenBackend) async throws {
    let number = GoldenDocuments.stores.upperBound
    let files = files(kind, number)
    try #require(Files.names(files).isEmpty, "\(files) is there and stays as it is")
    let made = try await GoldenDocuments.make(kind, number, try Scratch().path)
    let size = made.reduce(0) { $0 + $1.bytes.count }
    try #require(
      size <= 300_000,
      "\(kind) takes \(size) bytes: \(made.map { ($0.name, $0.bytes.count) })")
    Files.write(made, files)
  }

  private func copy(_ kind: GoldenBackend, _ number: Int) throws -> Scratch {
    let files = Files.all(files(kind, number))
    try #require(!files.isEmpty, "there is no golden store in \(self.files(kind, number))")
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

  @Test("It holds what it always held, and is written to", arguments: all)
  func opens(_ kind: GoldenBackend, _ number: Int) async throws {
    let scratch = try copy(kind, number)
    var model = try GoldenDocuments.model(number)
    var backend = try kind.open(scratch.store)
    try expect(backend, model, "as it was")
    let states = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try view.documentIndexes(GoldenDocuments.tree).map(\.state)
    }
    #expect(states == [.ready, .ready, .ready])
    try expectVersions(backend, number)
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

  /// As of when matches were whole is known where a version is stored.
  private func expectVersions(_ backend: any StorageBackend, _ number: Int) throws {
    let times = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      var times: [Timestamp?] = []
      for id in 1...3 as ClosedRange<UInt64> {
        times.append(try view.matchesVersion(GoldenDocuments.tree, QueryID(rawValue: id))?.time)
      }
      return times
    }
    let time = try Timestamp(seconds: 1_700_000_060)
    #expect(times == (number > 1 ? [time, time, nil] : [nil, nil, nil]))
  }

  @Test("It holds every kind of record of documents", arguments: all)
  func isComplete(_ kind: GoldenBackend, _ number: Int) throws {
    let scratch = try copy(kind, number)
    let store = try kind.store(scratch.store)
    let view = try store.view()
    var spaces = [
      Spaces.runs, Spaces.queue, Spaces.finished, Spaces.queries, Spaces.queryKeys, Spaces.pins,
      Spaces.indexes, number > 2 ? Spaces.overlays : Spaces.earlierOverlays, Spaces.collections,
    ]
    if number > 1 { spaces.append(Spaces.changes) }
    for space in spaces {
      #expect(try view.entries(space, prefix: [], limit: 1).count == 1, "space \(space.id)")
    }
    // The newest time that was read, versions, their places, and what was read later.
    let rows = Set(try view.keys(Spaces.changes, prefix: []).map { $0[4] })
    #expect(rows == (number > 1 ? [0, 1, 2, 3] : []))
    let runs = try view.entries(Spaces.runs, prefix: []).compactMap {
      try? RunHead(storeKey: $0.key, value: $0.value)
    }
    #expect(runs.contains { $0.flags & RunHead.hasLargeLeaves != 0 })
    view.close()
    try store.close()
  }
}
