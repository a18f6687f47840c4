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

  private func until(_ words: String, _ isSo: @MainActor () -> Bool) async throws {
    for _ in 0..<10_000 {
      if isSo() { return }
      try await Task.sleep(for: .milliseconds(2))
    }
    Issue.record("\(words)")
  }

  @Test func `A document is shown with its metadata`() async throws {
    let reference = firestore.document("rooms/eros")
    let model = ObservedDocument<Room>(reference)
    #expect(!model.phase.isCurrent && model.metadata == nil)
    try await until("nothing is heard") { model.phase.isCurrent }
    #expect(model.value == nil)
    try await firestore.disableNetwork()
    _ = reference.enqueue(.set(["name": "Eros", "size": 1]))
    try await until("the write is not shown") { model.value == Room(name: "Eros", size: 1) }
    #expect(model.metadata?.hasPendingWrites == true && model.metadata?.isFromCache == true)
    try await firestore.enableNetwork()
    try await until("the server's word is not shown") {
      model.metadata?.hasPendingWrites == false && model.metadata?.isFromCache == false
    }
    try await reference.updateData(["size": "large"])
    try await until("no fault is told") { model.phase.error != nil }
    #expect(model.value?.size == 1)
    try await reference.delete()
    try await until("it is not gone") { model.value == nil && model.phase.isCurrent }
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
    try await until("nothing is heard") {
      model.rows.map(\.id) == ["rooms/b", "rooms/a"] && model.metadata?.isFromCache == false
    }
    #expect(model.faults.keys.sorted() == ["rooms/c"] && model.phase.isCurrent)
    try await rooms.document("c").updateData(["name": "Cellar"])
    try await until("no change is heard") {
      model.rows.map(\.value.name) == ["Bath", "Cellar", "Attic"]
    }
    #expect(model.faults.isEmpty)
    model.stop()
    try await firestore.terminate()
  }
}
