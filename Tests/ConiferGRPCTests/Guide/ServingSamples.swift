#if GRPC
  import ConiferDocumentServer
  import ConiferEngine
  import ConiferFirestore
  import ConiferGRPC
  import ConiferSQLite
  import ConiferServerGRPC
  import ConiferStorage
  import TestSupport
  import Testing

  /// The code of Docs/DocumentGRPC.md.
  @Suite(.timeLimit(.minutes(5))) struct ServingSamples {
    private func serve(_ directory: String, _ body: (Int) async throws -> Void) async throws {
      let documents = try DocumentServer(
        DocumentServerConfiguration(storage: .sqlite(at: directory)))
      let server = DocumentGRPCServer(documents, DocumentGRPCConfiguration(port: 0))
      let port = try await server.start()
      try await body(port)
      await server.stop()
      try await documents.close()
    }

    @Test("What was written is there when the server comes back")
    func example() async throws {
      let scratch = try Scratch()
      for isFirst in [true, false] {
        try await serve(scratch.store) { port in
          var configuration = FirestoreConfiguration.grpc(projectID: "my-app", storage: .memory())
          configuration.clock = PatientClock()
          let db = Firestore(configuration)
          db.useEmulator(withHost: "localhost", port: port)
          let eros = db.document("rooms/eros")
          if isFirst { try await eros.setData(["size": 3]) }
          #expect(try await eros.getDocument(source: .server).get("size") as? Int == 3)
          try await db.terminate()
        }
      }
    }
  }
#endif
