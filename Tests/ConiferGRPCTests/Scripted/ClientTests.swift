#if GRPC
  import ConiferStorage
  import Logging
  import SwiftProtobuf
  import struct ConiferDocument.DatabaseID
  import ConiferFirestore
  import ConiferNetworkWatch
  import ConiferProtobuf
  import ConiferWire
  import Foundation
  import GRPCCore
  import NetworkTestSupport
  import Synchronization
  import TestSupport
  import Testing

  @testable import ConiferGRPC

  @Suite("A client of a server over gRPC", .timeLimit(.minutes(5)))
  struct ClientTests {
    /// Gives one token after the other.
    private final class Tokens: TokenProvider {
      private let asked = Mutex<[Bool]>([])
      var all: [Bool] { asked.withLock { $0 } }

      func token(forcingRefresh: Bool) async throws -> AuthToken? {
        let number = asked.withLock { asked in
          asked.append(forcingRefresh)
          return asked.count
        }
        return AuthToken("token-\(number)", identity: "anna")
      }
    }

    @Test("A token that the server no longer takes is replaced")
    func refresh() async throws {
      let server = try await ScriptedServer()
      let tokens = Tokens()
      let db = firestore(try service(server.port), tokens: tokens)
      async let seen = db.document("rooms/eros").first { !$0.metadata.isFromCache }
      let first = try await server.next()
      #expect(first.header("authorization") == "Bearer token-1")
      first.end(RPCError(code: .unauthenticated, message: "too old"))
      let second = try await server.next()
      #expect(second.header("authorization") == "Bearer token-2")
      let id = try await second.receive(ProtoListenRequest.self).addTarget.targetID
      try second.serve(id, [("rooms/eros", 3)], token: "t", at: 5)
      #expect(try await seen.get("n") as? Int == 3)
      #expect(tokens.all == [false, true])
      try await db.terminate()
    }

    @Test("After a break the target goes on from its token, with the count of what is here")
    func resume() async throws {
      let server = try await ScriptedServer()
      let db = firestore(try service(server.port))
      let snapshots = Mailbox<QuerySnapshot>()
      let listener = db.collection("rooms").addSnapshotListener(includeMetadataChanges: true) {
        snapshot, _ in
        if let snapshot { snapshots.put(snapshot) }
      }
      var call = try await server.next()
      let first = try await call.receive(ProtoListenRequest.self).addTarget
      #expect(first.resumeToken.isEmpty && !first.hasExpectedCount)
      try call.serve(first.targetID, [("rooms/a", 1), ("rooms/b", 2)], token: "t5", at: 5)
      #expect(try await synced(snapshots).ids == ["a", "b"])
      call.end(RPCError(code: .unavailable, message: "restarting"))
      call = try await server.next()
      let second = try await call.receive(ProtoListenRequest.self).addTarget
      #expect(String(decoding: second.resumeToken, as: UTF8.self) == "t5")
      #expect(second.expectedCount.value == 2 && second.targetID == first.targetID)
      try call.serve(second.targetID, [("rooms/c", 3)], token: "t6", at: 6)
      while try await synced(snapshots).ids != ["a", "b", "c"] {}
      listener.remove()
      try await db.terminate()
    }

    @Test("A count that differs has the target asked for anew")
    func filter() async throws {
      let server = try await ScriptedServer()
      let db = firestore(try service(server.port))
      let snapshots = Mailbox<QuerySnapshot>()
      let listener = db.collection("rooms").addSnapshotListener(includeMetadataChanges: true) {
        snapshot, _ in
        if let snapshot { snapshots.put(snapshot) }
      }
      let call = try await server.next()
      let id = try await call.receive(ProtoListenRequest.self).addTarget.targetID
      try call.serve(id, [("rooms/a", 1), ("rooms/b", 2)], token: "t5", at: 5)
      #expect(try await synced(snapshots).ids == ["a", "b"])
      try call.send(Answers.filter(id, count: 1))
      try call.send(Answers.target(.noChange, token: "t6", at: 6))
      #expect(try await call.receive(ProtoListenRequest.self).removeTarget == id)
      let again = try await call.receive(ProtoListenRequest.self)
      #expect(again.addTarget.targetID == id && again.addTarget.resumeToken.isEmpty)
      #expect(again.labels.map(\.value) == ["existence-filter-mismatch"])
      try call.send(Answers.target(.remove, [id]))
      try call.serve(id, [("rooms/a", 1)], token: "t7", at: 7)
      // What the server does not say of `b` is asked for as a document in limbo.
      let limbo = try await call.receive(ProtoListenRequest.self)
      #expect(limbo.addTarget.documents.documents == ["\(Answers.root)/rooms/b"])
      #expect(limbo.addTarget.targetID % 2 == 1 && limbo.labels.map(\.value) == ["limbo-document"])
      try call.serve(limbo.addTarget.targetID, [], token: "l", at: 8)
      while try await synced(snapshots).ids != ["a"] {}
      listener.remove()
      try await db.terminate()
    }

    /// What a listener hears.
    private struct Heard: Sendable {
      var ids: [String] = []
      var error: FirestoreError?
    }

    private func listen(
      _ query: Query, _ heard: Mailbox<Heard>
    ) -> any ListenerRegistration {
      query.addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
        if let error { heard.put(Heard(error: error as? FirestoreError)) }
        if let snapshot, snapshot.isSynced { heard.put(Heard(ids: snapshot.ids)) }
      }
    }

    @Test("A document that cannot be read ends the listeners of its targets alone")
    func unreadable() async throws {
      let server = try await ScriptedServer()
      let db = firestore(try service(server.port))
      let (rooms, halls) = (Mailbox<Heard>(), Mailbox<Heard>())
      let listeners = [listen(db.collection("rooms"), rooms)]
      let call = try await server.next()
      let id = try await call.receive(ProtoListenRequest.self).addTarget.targetID
      try call.serve(id, [("rooms/a", 1)], token: "t5", at: 5)
      #expect(await rooms.next()?.ids == ["a"])
      let others = [listen(db.collection("halls"), halls)]
      let other = try await call.receive(ProtoListenRequest.self).addTarget.targetID
      try call.serve(other, [("halls/b", 1)], token: "t6", at: 6)
      #expect(await halls.next()?.ids == ["b"])
      var bad = Answers.document("rooms/bad", 1, at: 7, matching: [id])
      bad.documentChange.document.fields[0].value.valueType = nil
      try call.send(bad)
      try call.send(Answers.document("halls/c", 1, at: 7, matching: [other]))
      try call.send(Answers.target(.noChange, token: "t7", at: 7))
      let error = try #require(await rooms.next()?.error)
      #expect(error.code == .dataLoss && error.message.contains("rooms/bad"))
      #expect(await halls.next()?.ids == ["b", "c"])
      // The server is told, on the same stream, and whoever listens anew gets what it has then.
      #expect(try await call.receive(ProtoListenRequest.self).removeTarget == id)
      try call.send(Answers.target(.remove, [id]))
      let again = [listen(db.collection("rooms"), rooms)]
      let added = try await call.receive(ProtoListenRequest.self).addTarget
      #expect(String(decoding: added.resumeToken, as: UTF8.self) == "t6")
      try call.serve(added.targetID, [("rooms/good", 2)], token: "t8", at: 8)
      #expect(await rooms.next()?.ids == ["a", "good"])
      for listener in listeners + others + again { listener.remove() }
      try await db.terminate()
    }

    @Test("A refusal that names no target is of all")
    func refusalOfAll() async throws {
      let server = try await ScriptedServer()
      let db = firestore(try service(server.port))
      let (rooms, halls) = (Mailbox<Heard>(), Mailbox<Heard>())
      let listeners = [
        listen(db.collection("rooms"), rooms), listen(db.collection("halls"), halls),
      ]
      let call = try await server.next()
      for path in ["rooms/a", "halls/b"] {
        let id = try await call.receive(ProtoListenRequest.self).addTarget.targetID
        try call.serve(id, [(path, 1)], token: "t5", at: 5)
      }
      while await rooms.next()?.ids != ["a"] {}
      while await halls.next()?.ids != ["b"] {}
      try call.send(
        Answers.target(
          .remove,
          cause: .with {
            $0.code = 7
            $0.message = "no"
          }))
      for heard in [rooms, halls] {
        var next = await heard.next()
        while next?.error == nil { next = await heard.next() }
        #expect(next?.error?.code == .permissionDenied)
      }
      for listener in listeners { listener.remove() }
      try await db.terminate()
    }

    @Test("A filter of names tells which documents are gone")
    func bloom() async throws {
      let server = try await ScriptedServer()
      let db = firestore(try service(server.port))
      let snapshots = Mailbox<QuerySnapshot>()
      let listener = db.collection("rooms").addSnapshotListener(includeMetadataChanges: true) {
        snapshot, _ in
        if let snapshot { snapshots.put(snapshot) }
      }
      let call = try await server.next()
      let id = try await call.receive(ProtoListenRequest.self).addTarget.targetID
      try call.serve(id, [("rooms/a", 1), ("rooms/b", 2)], token: "t5", at: 5)
      #expect(try await synced(snapshots).ids == ["a", "b"])
      // A filter of one hash that holds `a` and not `b`.
      var filter = Answers.filter(id, count: 1)
      let bits = bitmap(of: "\(Answers.root)/rooms/a", without: "\(Answers.root)/rooms/b")
      filter.filter.unchangedNames.bits.bitmap = .init(bits)
      filter.filter.unchangedNames.hashCount = 1
      try call.send(filter)
      try call.send(Answers.target(.noChange, token: "t6", at: 6))
      let limbo = try await call.receive(ProtoListenRequest.self)
      #expect(limbo.addTarget.documents.documents == ["\(Answers.root)/rooms/b"])
      try call.serve(limbo.addTarget.targetID, [], token: "l", at: 7)
      while try await synced(snapshots).ids != ["a"] {}
      listener.remove()
      try await db.terminate()
    }

    @Test(
      "A stream that nobody needs is closed after a minute, and opened again when somebody does")
    func idle() async throws {
      let server = try await ScriptedServer()
      let clock = ScriptedClock()
      let db = firestore(try service(server.port), clock: clock)
      async let seen = db.document("rooms/eros").first { !$0.metadata.isFromCache }
      let call = try await server.next()
      let id = try await call.receive(ProtoListenRequest.self).addTarget.targetID
      try call.serve(id, [("rooms/eros", 3)], token: "t", at: 5)
      _ = try await seen
      // Its listener has left.
      #expect(try await call.receive(ProtoListenRequest.self).removeTarget == id)
      clock.advance(by: 60_001)
      await call.ended()
      async let again = db.document("rooms/zeus").first { !$0.metadata.isFromCache }
      let next = try await server.next()
      let other = try await next.receive(ProtoListenRequest.self).addTarget.targetID
      try next.serve(other, [("rooms/zeus", 4)], token: "t", at: 6)
      #expect(try await again.get("n") as? Int == 4)
      try await db.terminate()
    }

    @Test("A network that returns has the stream opened at once")
    func networkReturn() async throws {
      final class Watch: NetworkWatch { func stop() {} }
      let server = try await ScriptedServer()
      let held = try HeldPort()
      let base = try service(held.port)
      let log = CountingService.Log()
      let returned = Mutex<(@Sendable () -> Void)?>(nil)
      let transport = DocumentTransport(
        CountingService(base: base, log: log), description: "a test",
        watchingNetwork: { tell in
          returned.withLock { $0 = tell }
          return Watch()
        })
      var configuration = FirestoreConfiguration(projectID: "test", transport: transport)
      // Time stands still: nothing else ends the wait for the next attempt.
      configuration.clock = ScriptedClock()
      configuration.logger.logLevel = .critical
      let db = Firestore(configuration)
      async let seen = db.document("rooms/eros").first { !$0.metadata.isFromCache }
      try await eventually("the first attempt fails") { log.all.closed.count == 1 }
      let relay = try held.lead(to: server.port)
      // The engine may not have begun to wait yet.
      try await eventually("another attempt is made") {
        returned.withLock { $0 }?()
        return log.all.streams > 1
      }
      let call = try await server.next()
      let id = try await call.receive(ProtoListenRequest.self).addTarget.targetID
      try call.serve(id, [("rooms/eros", 3)], token: "t", at: 5)
      #expect(try await seen.get("n") as? Int == 3)
      try await db.terminate()
      withExtendedLifetime(relay) {}
    }

    @Test("A way over gRPC watches the system's network, to whatever host it leads")
    func systemWatch() throws {
      let database = DatabaseID(project: "test")
      let own = DocumentTransport.grpc(to: database, host: "localhost:1", isSecure: false)
      let led = try #require(own.leading(to: "localhost:2", isSecure: false))
      // There is none in some sandboxes.
      let isWatchable = SystemNetworkWatch {} != nil
      for transport in [own, led, .grpc(to: database, host: "no host")] {
        let watch = transport.watchNetwork {}
        #expect((watch is SystemNetworkWatch) == isWatchable, "\(transport)")
        watch?.stop()
      }
    }

    #if Network && os(Linux)
      @Test(
        "A network that returns to the system has a connection begin at once",
        .enabled(
          if: LoopbackAddress.canChange, "This process may not add an address to the loopback."))
      func systemReturn() async throws {
        try await LoopbackAddress.alone {
          _ = try LoopbackAddress.change(2, isNew: false)
          let server = try await ScriptedServer()
          let held = try HeldPort()
          var configuration = FirestoreConfiguration.grpc(
            projectID: "test", host: "127.0.0.1:\(held.port)", isSecure: false)
          // Time stands still: nothing else ends the wait for the next attempt.
          configuration.clock = ScriptedClock()
          configuration.logger.logLevel = .critical
          let db = Firestore(configuration)
          let told = Mailbox<Bool>()
          let listener = db.document("rooms/eros")
            .addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
              told.put(snapshot?.metadata.isFromCache == true)
            }
          // The first attempt has failed.
          #expect(await told.next() == true)
          let relay = try held.lead(to: server.port)
          try await LoopbackAddress.change(2, until: "another attempt is made") {
            server.waiting > 0
          }
          let call = try await server.next()
          let id = try await call.receive(ProtoListenRequest.self).addTarget.targetID
          try call.serve(id, [("rooms/eros", 3)], token: "t", at: 5)
          #expect(await told.next() == false)
          listener.remove()
          try await db.terminate()
          withExtendedLifetime(relay) {}
        }
      }
    #endif

    @Test("The settings of an app lead to an emulator")
    func emulator() async throws {
      let server = try await ScriptedServer()
      var configuration = FirestoreConfiguration.grpc(projectID: "test", storage: .memory())
      configuration.logger.logLevel = .critical
      let db = Firestore(configuration)
      db.useEmulator(withHost: "localhost", port: server.port)
      async let seen = db.document("rooms/eros").first { !$0.metadata.isFromCache }
      let call = try await server.next()
      let id = try await call.receive(ProtoListenRequest.self).addTarget.targetID
      try call.serve(id, [("rooms/eros", 3)], token: "t", at: 5)
      #expect(try await seen.get("n") as? Int == 3)
      try await db.terminate()
    }

    private func synced(_ snapshots: Mailbox<QuerySnapshot>) async throws -> QuerySnapshot {
      while let snapshot = await snapshots.next() {
        if snapshot.isSynced { return snapshot }
      }
      throw Ended()
    }

    private func bitmap(of name: String, without other: String) -> [UInt8] {
      for size in 1...64 {
        var bits = [UInt8](repeating: 0, count: size)
        let bit = Int(MD5(name.utf8).words.0 % UInt64(8 * size))
        bits[bit / 8] |= 1 << UInt8(bit % 8)
        let filter = BloomFilter(bitmap: bits, padding: 0, hashCount: 1)
        if filter?.mayContain(other) == false { return bits }
      }
      return []
    }
  }
#endif
