#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferEngine
  import ConiferFirestore
  import ConiferServerGRPC
  import ConiferWire
  import Testing

  @testable import ConiferGRPC

  /// Conifer's client with a server of its own.
  @Suite(.timeLimit(.minutes(5))) struct ServedClientTests {
    /// Somebody who is always signed in.
    private struct SignedIn: TokenProvider {
      let user: String

      func token(forcingRefresh: Bool) async throws -> AuthToken? {
        AuthToken(user, identity: user)
      }
    }

    @Test("Through a cut writes wait, and listeners go on with what changed")
    func cut() async throws {
      let documents = try DocumentServer()
      var port = 0
      var apps: [RealApp] = []
      let told = Mailbox<[String]>()
      func wait(_ isWanted: ([String]) -> Bool) async throws {
        while let ids = await told.next() { if isWanted(ids) { return } }
        throw Ended()
      }
      try await served(on: documents) { served in
        port = served.port
        try await served.fill(20)
        apps = try (0..<2).map { _ in try RealApp(at: port, served.database) }
        _ = apps[0].db.collection("rooms").addSnapshotListener { snapshot, _ in
          if let snapshot, snapshot.isSynced { told.put(snapshot.ids) }
        }
        try await wait { $0.count == 20 }
      }
      #expect(apps[0].log.all.documents.count == 20)
      let receipt = apps[1].db.document("rooms/late").enqueue(.set(["n": 100]))
      _ = try await receipt.durable
      try await served(on: documents, port: port) { served in
        try await receipt.acknowledged()
        try await wait { $0.count == 21 }
        let last = try #require(apps[0].log.all.targets.last)
        #expect(!last.resumeToken.isEmpty && last.expectedCount == 20)
        #expect(apps[0].log.all.documents.suffix(from: 20) == ["rooms/late"])
        for app in apps { try await app.db.terminate() }
      }
    }

    @Test("A write that the server never takes is refused, and the one behind it is made")
    func tooLarge() async throws {
      try await served(.open) {
        $0.limits.message = 100_000
      } _: { served in
        let db = try RealApp(at: served.port, served.database).db
        let large = db.document("rooms/large").enqueue(
          .set(["text": String(repeating: "x", count: 200_000)]))
        let small = db.document("rooms/small").enqueue(.set(["n": 1]))
        try await small.acknowledged()
        guard case .rejected = try await large.outcome else {
          Issue.record("The large one was not refused.")
          return
        }
        #expect(try await db.rejectedWrites().count == 1)
        #expect(try await db.document("rooms/small").getDocument(source: .server).exists)
        try await db.terminate()
      }
    }

    @Test("What the server's access does not allow is told, and a refused write is kept")
    func denied() async throws {
      let access = DocumentAccess(allows: { user, request in
        switch request {
        case .write(_, _, let after): user?.id == "ada" && after?["locked"] == nil
        case .get, .list: user?.id == "ada"
        }
      })
      try await served(access) { served in
        let ada = try RealApp(at: served.port, served.database, tokens: SignedIn(user: "ada")).db
        let ben = try RealApp(at: served.port, served.database, tokens: SignedIn(user: "ben")).db
        try await ada.document("rooms/a").setData(["n": 1])
        #expect(try await ada.document("rooms/a").getDocument(source: .server).exists)
        let read = await #expect(throws: FirestoreError.self) {
          _ = try await ben.collection("rooms").getDocuments(source: .server)
        }
        #expect(read?.code == .permissionDenied)
        let write = await #expect(throws: FirestoreError.self) {
          try await ada.document("rooms/a").setData(["locked": true])
        }
        #expect(write?.code == .permissionDenied)
        #expect(try await ada.rejectedWrites().count == 1)
        try await ada.document("rooms/a").setData(["n": 2])
        let found = try await ada.document("rooms/a").getDocument(source: .server)
        #expect(found.get("n") as? Int == 2 && found.get("locked") == nil)
        try await ada.terminate()
        try await ben.terminate()
      }
    }
  }
#endif
