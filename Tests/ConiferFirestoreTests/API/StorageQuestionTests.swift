import ConiferDocument
import ConiferDocumentServer
import ConiferStorage
import Testing

@testable import ConiferFirestore

/// What an app may ask about the documents that are kept on the device.
@Suite("Questions about the storage of documents")
struct StorageQuestionTests {
  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? FirestoreError)?.code }
  }

  @Test(
    "They tell what is kept, how queries find it, and what may go", arguments: EngineStore.allCases)
  func told(_ store: EngineStore) async throws {
    let world = try ServerWorld()
    let writes = try (0..<200).map { number in
      Mutation(
        try DocumentPath("rooms/r\(number)"),
        .set(["n": .integer(Int64(number)), "floor": .integer(Int64(number % 4))], []))
    }
    _ = try await world.server.commit(writes, in: world.database)
    var configuration = try world.configuration(store)
    configuration.cache = .persistent(bytes: 4 << 20)
    let firestore = Firestore(configuration)
    let rooms = firestore.collection("rooms")
    _ = try await rooms.first { !$0.metadata.isFromCache && $0.count == 200 }
    try await rooms.document("r7").updateData(["n": 700])

    let query = rooms.whereField("floor", isEqualTo: 3).whereField("n", isGreaterThan: 100)
    let unknown = try await firestore.explain(query)
    #expect(
      unknown.plan == .scan(collections: 1) && unknown.documentsRead == 200 && unknown.hint != nil)
    let all = try await firestore.explain(rooms)
    #expect(all.documentsRead == 200)
    let space = try await firestore.space()
    #expect(space.cache > 0 && space.budget == 4 << 20)
    #expect(try await firestore.verify().isSound)
    #expect(try await firestore.incidents().incidents.isEmpty)

    let plan = try await firestore.evict(to: 0, dryRun: true)
    #expect(plan.isDryRun && !plan.queries.isEmpty)
    #expect(try await firestore.explain(rooms).documentsRead == 200)
    let report = try await firestore.evict(to: 0)
    #expect(!report.queries.isEmpty && report.after < report.before)
    #expect(try await firestore.explain(rooms).documentsRead == 0)
    #expect(try await firestore.verify().isSound)
    try await firestore.terminate()
    #expect(await code { _ = try await firestore.space() } == .failedPrecondition)
    #expect(await code { _ = try await firestore.explain(rooms) } == .failedPrecondition)
  }

  @Test("What is invalid is refused, and what is asked of a suspended database waits")
  func refused() async throws {
    let world = try ServerWorld()
    let firestore = try world.firestore(.sqlite)
    let rooms = firestore.collection("rooms")
    #expect(
      await code { _ = try await firestore.explain(rooms.limit(to: -1)) } == .invalidArgument)
    #expect(await code { _ = try await firestore.evict(to: -1) } != nil)
    try await firestore.suspend()
    async let space = firestore.space()
    try await firestore.resume()
    #expect(try await space.file > 0)
    try await firestore.terminate()
  }
}
