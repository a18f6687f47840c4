#if GRPC
  import ConiferDocumentServer
  import ConiferEngine
  import ConiferFirestore
  import ConiferGRPC
  import ConiferStorage
  import ConiferWire
  import Foundation
  import Logging
  import Synchronization
  import TestSupport
  import Testing

  /// The samples of Docs/Connecting.md do what the page says.
  @Suite(.timeLimit(.minutes(10)), .serialized) struct ConnectingTests {
    @Test(
      "A client of the page writes to the local server, is told, and goes on after it was led to the foreground"
    )
    func localServer() async throws {
      let scratch = try Scratch()
      try await served { served in
        let db = ConnectingSamples.localServer(scratch.store, port: served.port)
        let said = Mailbox<String>()
        let listener = ConnectingSamples.listen(db) { said.put($0) }
        while let words = await said.next(), words != "up to date" {}
        let eros = db.document("rooms/eros")
        try await eros.setData(["size": 3])
        try await ConnectingSamples.cameToForeground(db)
        let found = try await eros.first {
          !$0.metadata.isFromCache && !$0.metadata.hasPendingWrites
        }
        #expect(found.get("size") as? Int == 3)
        listener.remove()
        try await db.terminate()
      }
    }

    @Test(
      "A token that the server does not take is fetched anew, and after signing out none is sent")
    func tokens() async throws {
      let access = DocumentAccess(
        user: { $0 == "t1'" ? DocumentUser("ada") : nil }, allows: { user, _ in user != nil })
      try await served(access) { served in
        var configuration = FirestoreConfiguration.grpc(
          projectID: "my-app", host: "localhost:\(served.port)", isSecure: false,
          tokenProvider: ConnectingSamples.SignIn(), storage: .memory())
        configuration.clock = PatientClock()
        configuration.housekeeping = .off
        configuration.logger.logLevel = .critical
        let db = Firestore(configuration)
        try await db.document("rooms/eros").setData(["size": 3])
        #expect(ConnectingSamples.Session.now.withLock { $0?.token } == "t1'")
        ConnectingSamples.signOut(db)
        let said = Mailbox<String>()
        let listener = ConnectingSamples.listen(db) { said.put($0) }
        while let words = await said.next(), words != "You may not see these rooms." {}
        listener.remove()
        try await db.terminate()
      }
    }

    @Test("A file with certificates is read, and one that is missing is an error")
    func certificates() async throws {
      let scratch = try Scratch()
      let file = URL(fileURLWithPath: scratch.store + ".pem")
      try Data("no certificate".utf8).write(to: file)
      let db = try ConnectingSamples.ownCertificate(scratch.store, file)
      #expect(throws: (any Error).self) {
        try ConnectingSamples.ownCertificate(scratch.store, file.appendingPathExtension("none"))
      }
      try await db.terminate()
    }
  }
#endif
