import ConiferDocument
import ConiferDocumentServer
import ConiferKit
import ConiferStorage
import Foundation
import Logging
import TestSupport
import Testing

/// Documents of a database without a server are brought to one, as ordinary writes.
@Suite(.timeLimit(.minutes(10))) struct `Copying documents to a server` {
  private let database = DatabaseID(project: "app")
  private let server: DocumentServer
  private let link: DocumentLink
  private let source: Firestore
  private let target: Firestore

  init() throws {
    server = try DocumentServer()
    link = DocumentLink(to: database, of: server)
    source = Firestore(Self.quiet(.local(storage: .memory)))
    target = Firestore(
      Self.quiet(FirestoreConfiguration(projectID: "app", transport: link.transport)))
  }

  private static func quiet(_ configuration: FirestoreConfiguration) -> FirestoreConfiguration {
    var configuration = configuration
    configuration.logger.logLevel = .critical
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    return configuration
  }

  private func end() async throws {
    try await source.terminate()
    try await target.terminate()
    try await server.close()
  }

  private func put(_ path: String, _ fields: [String: Any]) async throws {
    try await source.document(path).setData(fields)
  }

  private func fields(_ path: String) async throws -> MapValue? {
    try await server.document(DocumentPath(path), in: database)?.fields
  }

  private func set(_ path: String, _ fields: MapValue) async throws {
    try await server.commit([Mutation(DocumentPath(path), .set(fields, []))], in: database)
  }

  @Test func `documents arrive from everywhere, with references that lead to the other database`()
    async throws
  {
    try await put("rooms/r1", ["name": "Attic", "next": source.document("rooms/r2")])
    try await put("rooms/none/chairs/c1", ["rooms": [source.document("rooms/r1")]])
    try await put(
      "rooms/r1/chairs/c1/parts/p1",
      [
        "map": ["of": source.document("rooms/r1")],
        "when": ConiferFirestore.Timestamp(seconds: 5, nanoseconds: 0),
      ])
    let result = try await source.copy(to: target)
    #expect(result == CopyProgress(total: 3, copied: 3))
    func reference(_ path: String) throws -> DocumentValue {
      .reference(DocumentName(try DocumentPath(path), in: database))
    }
    #expect(
      try await fields("rooms/r1")
        == MapValue([("name", .string("Attic")), ("next", reference("rooms/r2"))]))
    #expect(try await fields("rooms/none") == nil)
    #expect(
      try await fields("rooms/none/chairs/c1")
        == MapValue([("rooms", .array([reference("rooms/r1")]))]))
    #expect(
      try await fields("rooms/r1/chairs/c1/parts/p1")?["map"]
        == .map(MapValue([("of", reference("rooms/r1"))])))
    try await end()
  }

  @Test(arguments: [ExistingData.keep, .replace])
  func `pages are as large as the service's, and repeated they change nothing`(
    _ existing: ExistingData
  ) async throws {
    for start in [0, 400, 800] {
      let batch = source.batch()
      for number in start..<start + 400 {
        batch.setData(["n": number], forDocument: source.document("n/\(number)"))
      }
      try await batch.commit()
    }
    // Large ones end a page earlier.
    for number in 0..<17 {
      try await put("large/\(number)", ["text": String(repeating: "x", count: 600_000)])
    }
    let steps = Gathered<Int>()
    let first = try await source.copy(to: target, existing: existing) {
      steps.add($0.copied + $0.kept)
    }
    #expect(first == CopyProgress(total: 1_217, copied: 1_217))
    #expect(steps.all == steps.all.sorted() && steps.all.last == 1_217)
    #expect(zip([0] + steps.all, steps.all).allSatisfy { $1 - $0 <= 500 })
    // Two at most share a page.
    #expect(steps.all.count >= 3 + 8)
    let again = try await source.copy(to: target, existing: existing)
    #expect(again.copied == (existing == .keep ? 0 : 1_217))
    #expect(again.kept == (existing == .keep ? 1_217 : 0))
    #expect(try await target.collection("n").count.getAggregation(source: .server).count == 1_200)
    try await end()
  }

  @Test func `what the server has stays, unless the call says otherwise`() async throws {
    try await put("a/1", ["n": 1])
    try await put("a/2", ["n": 2])
    try await set("a/1", ["n": 9])
    #expect(try await source.copy(to: target) == CopyProgress(total: 2, copied: 1, kept: 1))
    #expect(try await fields("a/1") == ["n": 9])
    #expect(try await fields("a/2") == ["n": 2])
    let all = try await source.copy(to: target, existing: .replace)
    #expect(all == CopyProgress(total: 2, copied: 2))
    #expect(try await fields("a/1") == ["n": 1])
    try await end()
  }

  @Test func `what waits on both sides is sent before`() async throws {
    try await set("a/1", ["n": 9])
    // The link holds what the other database writes until the copy asks.
    try await target.disableNetwork()
    target.document("a/2").enqueue(.set(["n": 8]))
    for number in 1...3 { source.document("a/\(number)").enqueue(.set(["n": number])) }
    let copying = Task { try await source.copy(to: target) }
    try await target.enableNetwork()
    #expect(try await copying.value == CopyProgress(total: 3, copied: 1, kept: 2))
    #expect(try await fields("a/2") == ["n": 8])
    #expect(try await fields("a/3") == ["n": 3])
    try await end()
  }

  @Test func `after a lost answer it goes on, and nothing is written twice`() async throws {
    for number in 1...3 { try await put("a/\(number)", ["n": number]) }
    link.loseAnswers(next: 1)
    let result = try await source.copy(to: target)
    #expect(result.total == 3 && result.copied + result.kept == 3)
    #expect(try await server.documents(query("a")).count == 3)
    try await end()
  }

  private func query(_ collection: String) throws -> DocumentQuery {
    DocumentQuery(.collection(try CollectionPath(collection)), in: database)
  }

  @Test func `without a server, of a client of one and to itself it is refused`() async throws {
    try await put("a/1", ["n": 1])
    func code(_ body: () async throws(FirestoreError) -> CopyProgress) async
      -> FirestoreError.Code?
    {
      do throws(FirestoreError) {
        _ = try await body()
        return nil
      } catch { return error.code }
    }
    #expect(
      await code { () async throws(FirestoreError) in try await target.copy(to: source) }
        == .failedPrecondition)
    #expect(
      await code { () async throws(FirestoreError) in try await source.copy(to: source) }
        == .invalidArgument)
    server.setAccess(DocumentAccess(allows: { _, _ in false }))
    #expect(
      await code { () async throws(FirestoreError) in try await source.copy(to: target) }
        == .permissionDenied)
    try await end()
  }

  @Test func `the samples of the page do what it says`() async throws {
    try await put("a/1", ["n": 1])
    let shown = Gathered<String>()
    let result = try await LocalFirestoreSamples.bringToServer(source, target) { shown.add($0) }
    #expect(result == CopyProgress(total: 1, copied: 1))
    #expect(shown.all == ["1 of 1"])
    try await end()
  }
}
