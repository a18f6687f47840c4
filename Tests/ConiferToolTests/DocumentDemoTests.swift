#if Network && GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferFirestore
  import Testing

  @testable import ConiferTool

  /// The proofs of the demo of documents can fail.
  @Suite struct DocumentDemoTests {
    @Test(arguments: persistentBackends)
    func `The comparison fails when client and server differ`(backend: String) async throws {
      let sandbox = try Sandbox()
      let stores = try DemoStores(sandbox.url(backend))
      let database = DocumentDemoClient.database
      func serving(_ body: (DocumentServer) async throws -> Void) async throws {
        let server = try DocumentServer(
          DocumentServerConfiguration(storage: DemoStores.storage(stores.server)))
        try await body(server)
        try await server.close()
      }
      func write(_ number: Int64) async throws {
        try await serving { server in
          let note = try DocumentPath("notes/note-1")
          try await server.commit(
            [.set(note, [("number", .value(.integer(number)))], in: database)], in: database)
        }
      }
      func listen() async throws {
        try await serving { server in
          let client = Firestore(
            FirestoreConfiguration(
              projectID: database.project, storage: try DemoStores.storage(stores.client),
              transport: server.transport(to: database)))
          let notes = client.collection("notes").snapshots(includeMetadataChanges: true)
          for try await snapshot in notes where !snapshot.metadata.isFromCache {
            #expect(snapshot.count == 1)
            break
          }
          try await client.terminate()
        }
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

    @Test func `A write that is missing or counted twice is a difference`() {
      let made = DocumentDemoState(after: 23)
      #expect(made.difference(from: made.documents) == nil)
      #expect(made.difference(from: DocumentDemoState(after: 22).documents) != nil)
      var twice = made.documents
      twice[DocumentDemoWrites.totals]?["notes"] = 6
      #expect(made.difference(from: twice)?.contains("notes = integer(6)") == true)
    }
  }
#endif
