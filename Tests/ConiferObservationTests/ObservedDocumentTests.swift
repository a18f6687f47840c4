import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore
import ConiferObservation
import Logging
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
