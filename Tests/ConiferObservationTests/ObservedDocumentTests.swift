import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore
import ConiferObservation
import Logging
import Synchronization
import TestSupport
import Testing

/// Models of the client of documents, as views use them.
@MainActor @Suite struct `Observed models of documents` {
  private struct Room: Codable, Equatable, Sendable {
    var name: String
    var size: Int
  }

  private let server: DocumentServer
  private let firestore: Firestore

  init() throws {
    server = try DocumentServer()
    var configuration = FirestoreConfiguration(
      projectID: "test", transport: server.transport(to: DatabaseID(project: "test")))
    configuration.logger.logLevel = .critical
    firestore = Firestore(configuration)
  }

  @Test func `A document is shown with its metadata`() async throws {
    let reference = firestore.document("rooms/eros")
    let model = ObservedDocument<Room>(reference)
    #expect(!model.phase.isCurrent && model.metadata == nil)
    try await eventually("Nothing is heard.") { model.phase.isCurrent }
    #expect(model.value == nil)
    try await firestore.disableNetwork()
    _ = reference.enqueue(.set(["name": "Eros", "size": 1]))
    try await eventually("The write is not shown.") { model.value == Room(name: "Eros", size: 1) }
    #expect(model.metadata?.hasPendingWrites == true && model.metadata?.isFromCache == true)
    try await firestore.enableNetwork()
    try await eventually("The server's word is not shown.") {
      model.metadata?.hasPendingWrites == false && model.metadata?.isFromCache == false
    }
    try await reference.updateData(["size": "large"])
    try await eventually("No fault is told.") { model.phase.error != nil }
    #expect(model.value?.size == 1)
    try await reference.delete()
    try await eventually("It is not gone.") { model.value == nil && model.phase.isCurrent }
    try await firestore.terminate()
  }

  /// A room that counts how often one was decoded.
  private struct Counted: Decodable, Sendable {
    static let count = Atomic(0)
    let size: Int

    enum CodingKeys: CodingKey { case size }

    init(from decoder: any Decoder) throws {
      Self.count.add(1, ordering: .relaxed)
      size = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .size)
    }
  }

  /// Where a document comes from changes with the connection, and nothing of the document does.
  @Test func `Only documents that have changed are decoded again`() async throws {
    let rooms = firestore.collection("rooms")
    try await rooms.document("a").setData(["size": 3])
    try await rooms.document("b").setData(["size": 1])
    let model = ObservedDocuments<Counted>(rooms)
    try await eventually("Nothing is heard.") {
      model.rows.count == 2 && model.metadata?.isFromCache == false
    }
    let before = Counted.count.load(ordering: .relaxed)
    for _ in 0..<2 {
      try await firestore.disableNetwork()
      try await eventually("It is online.") { model.metadata?.isFromCache == true }
      try await firestore.enableNetwork()
      try await eventually("It is offline.") { model.metadata?.isFromCache == false }
    }
    #expect(Counted.count.load(ordering: .relaxed) == before)
    try await rooms.document("b").updateData(["size": 2])
    try await eventually("No change is heard.") { model.rows.last?.value.size == 2 }
    #expect(Counted.count.load(ordering: .relaxed) == before + 1)
    try await firestore.terminate()
    try await eventually("It does not end.") { model.phase.error?.code == .failedPrecondition }
  }

  @Test func `A write is followed to its answer`() async throws {
    try await firestore.disableNetwork()
    let model = ObservedWrite(firestore.document("rooms/a").enqueue(.set(["size": 1])))
    try await eventually("It is not durable.") { model.progress == .durable }
    try await firestore.enableNetwork()
    try await eventually("It is not acknowledged.") { model.progress == .ended(.acknowledged) }
    try await firestore.disableNetwork()
    let late = ObservedWrite(firestore.document("rooms/b").enqueue(.set(["size": 1])))
    try await eventually("It is not queued.") { late.id != nil }
    try await firestore.terminate()
    try await eventually("The end is not told.") { late.progress == .closed }
  }

  @Test func `Documents are in the query's order, and what cannot be decoded is left out`()
    async throws
  {
    let rooms = firestore.collection("rooms")
    try await rooms.document("a").setData(["name": "Attic", "size": 3])
    try await rooms.document("b").setData(["name": "Bath", "size": 1])
    try await rooms.document("c").setData(["name": 7, "size": 2])
    let model = ObservedDocuments<Room>(rooms.order(by: "size"))
    try await eventually("Nothing is heard.") {
      model.rows.map(\.id) == ["rooms/b", "rooms/a"] && model.metadata?.isFromCache == false
    }
    #expect(model.faults.keys.sorted() == ["rooms/c"] && model.phase.isCurrent)
    try await rooms.document("c").updateData(["name": "Cellar"])
    try await eventually("No change is heard.") {
      model.rows.map(\.value.name) == ["Bath", "Cellar", "Attic"]
    }
    #expect(model.faults.isEmpty)
    model.stop()
    try await firestore.terminate()
  }
}
