import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore
import Testing

@testable import ConiferTool

/// The proofs of the demo of documents can fail.
@Suite struct DocumentDemoTests {
  @Test(arguments: persistentBackends)
  func `The comparison fails when client and server differ`(backend: String) async throws {
    let stores = try DemoStores(try Sandbox().url(backend))
    let note = try DocumentPath("notes/note-1")
    func write(_ number: Int64) async throws {
      let server = try DocumentDemoPair.server(stores)
      try await server.commit(
        [.set(note, [("number", .value(.integer(number)))], in: DocumentDemoPair.database)],
        in: DocumentDemoPair.database)
      try await server.close()
    }
    func listen() async throws {
      let pair = try DocumentDemoPair(stores, isReachable: true)
      #expect(try await pair.synced(pair.client.collection("notes")).count == 1)
      try await pair.close()
    }
    try await write(1)
    try await listen()
    #expect(try await DocumentDemoProof(stores).run() == 1)
    try await write(2)
    await #expect(throws: Failure.self) { try await DocumentDemoProof(stores).run() }
    try await listen()
    #expect(try await DocumentDemoProof(stores).run() == 1)
  }

  @Test func `What the writes leave behind is counted without the client`() {
    let state = DocumentDemoState(after: 23)
    #expect(state.documents[DocumentDemoWrites.totals] == ["notes": 5, "pairs": 8])
    #expect(state.documents(in: "pairs").count == 8)
    #expect(
      Set(state.documents(in: "notes").keys) == ["notes/note-2", "notes/note-4", "notes/note-5"])
    #expect(state.documents["notes/note-5"]?["likes"] == 1)
    #expect(DocumentDemoState(after: 22).documents != state.documents)
  }
}
