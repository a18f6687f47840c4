#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferFirestore
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import SwiftProtobuf
  import Synchronization
  import Testing

  @testable import ConiferGRPC

  /// A server that knows nobody without a token.
  @Suite("Tokens over gRPC", .timeLimit(.minutes(5))) struct GRPCTokenTests {
    /// A time that moves when a test says so.
    private final class Time: Sendable {
      private let seconds = Mutex<Int64>(1_700_000_000)
      var now: ConiferDocument.Timestamp { after(0) }
      func after(_ by: Int64) -> ConiferDocument.Timestamp {
        (try? ConiferDocument.Timestamp(seconds: seconds.withLock { $0 } + by)) ?? .zero
      }
      func pass(_ by: Int64) { seconds.withLock { $0 += by } }
    }

    /// Serves with tokens `ada`, `old`, which has expired, and `short` and `next`, which expire one minute after the other.
    private func guarded(
      _ body: (ServedDatabase, Time) async throws -> Void
    ) async throws {
      let time = Time()
      let ends: [String: ConiferDocument.Timestamp?] = [
        "ada": nil, "old": time.now, "short": time.after(60), "next": time.after(120),
      ]
      let access = DocumentAccess(
        user: { token in
          guard let expires = ends[token] else { return nil }
          return DocumentUser("ada", expires: expires)
        }, requiresToken: true)
      let documents = try DocumentServer(
        DocumentServerConfiguration(access: access, clock: { time.now }))
      try await served(on: documents) { served in try await body(served, time) }
    }

    private static let wrong: [String?] = [nil, "", "mallory", "old"]
    private static let methods = [
      "GetDocument", "ListDocuments", "CreateDocument", "UpdateDocument", "DeleteDocument",
      "BatchGetDocuments", "BeginTransaction", "Commit", "Rollback", "RunQuery",
      "RunAggregationQuery", "BatchWrite", "ListCollectionIds", "PartitionQuery", "Listen", "Write",
    ]

    @Test("A call without a valid token is refused before anything of its request has come")
    func raw() async throws {
      try await guarded { served, _ in
        let connection = try await RawConnection(served.port)
        for method in Self.methods {
          for token in Self.wrong {
            let call = try await connection.call(method, token: token)
            #expect(await call.status() == .unauthenticated, "\(method), \(token ?? "none")")
            await call.close()
          }
        }
        let call = try await connection.call("GetDocument", token: "ada")
        let request = ProtoGetDocumentRequest.with { $0.name = "\(served.root)/rooms/a" }
        try await call.send(RawStream.framed(try request.serializedBytes()), ends: true)
        #expect(await call.status() == .notFound)
        #expect(!connection.isClosed)
      }
    }

    @Test("A client without a valid token is told so, and one with a token is served")
    func client() async throws {
      try await guarded { served, _ in
        let service = try served.service()
        let path = try DocumentPath("rooms/a")
        for token in Self.wrong {
          let error = await #expect(throws: StatusError.self) {
            _ = try await service.lookup([path], token: token)
          }
          #expect(error?.code == .unauthenticated)
          #expect(await WatchLine(service, token: token).end()?.code == .unauthenticated)
          #expect(await Self.writes(service, token).closed()?.code == .unauthenticated)
        }
        _ = try await service.commit([Mutation(path, .set(["n": 1], []))], token: "ada")
        #expect(try await service.lookup([path], token: "ada").first?.fields?["n"] == 1)
      }
    }

    @Test("Open streams end when their token expires, and others go on")
    func expiry() async throws {
      try await guarded { served, time in
        let service = try served.service()
        let target = DocumentQuery(
          .collection(try CollectionPath("rooms")), in: served.database
        ).target
        let lines = ["short", "next"].map { WatchLine(service, token: $0) }
        // Streams of writes of one client come one after the other.
        let streams = try ["short", "next"].map { Self.writes(try served.service(), $0) }
        for line in lines {
          line.stream.add(WatchTarget(2, target))
          #expect(await line.opened())
          _ = try await line.moment()
        }
        for stream in streams {
          stream.stream.greet(token: [])
          #expect(await stream.greeted())
        }
        time.pass(60)
        served.documents.tick()
        #expect(await lines[0].end()?.code == .unauthenticated)
        #expect(await streams[0].closed()?.code == .unauthenticated)
        #expect(served.grpc.callCount <= 4)
        try await served.documents.commit(
          [Mutation(try DocumentPath("rooms/a"), .set([:], []))], in: served.database)
        #expect(try await lines[1].moment().changes.matching.count == 1)
        time.pass(60)
        served.documents.tick()
        #expect(await lines[1].end()?.code == .unauthenticated)
        #expect(await streams[1].closed()?.code == .unauthenticated)
      }
    }

    @Test("An app whose token has expired gets another one, and its listeners go on")
    func renewal() async throws {
      try await guarded { served, time in
        let tokens = Tokens()
        let db = firestore(try served.service(), served.database, tokens: tokens)
        let told = Mailbox<[String]>()
        let listener = db.collection("rooms").addSnapshotListener { snapshot, _ in
          if let snapshot, snapshot.isSynced { told.put(snapshot.ids) }
        }
        #expect(await told.next() == [])
        time.pass(60)
        served.documents.tick()
        try await served.documents.commit(
          [Mutation(try DocumentPath("rooms/a"), .set([:], []))], in: served.database)
        while let ids = await told.next() { if ids == ["a"] { break } }
        #expect(tokens.all.contains(true))
        listener.remove()
        try await db.terminate()
      }
    }

    /// Gives `short`, and `next` to whoever needs another one.
    private final class Tokens: TokenProvider {
      private let asked = Mutex<[Bool]>([])
      var all: [Bool] { asked.withLock { $0 } }

      func token(forcingRefresh: Bool) async throws -> AuthToken? {
        let isOld = asked.withLock { asked in
          asked.append(forcingRefresh)
          return asked.contains(true)
        }
        return AuthToken(isOld ? "next" : "short", identity: "ada")
      }
    }

    private static func writes(_ service: any DocumentService, _ token: String?) -> WriteLine {
      WriteLine(service, token: token)
    }
  }

  /// A stream of writes and what came on it.
  private final class WriteLine: Sendable {
    private let events: Mailbox<WriteStreamEvent>
    let stream: any WriteStream

    init(_ service: any DocumentService, token: String?) {
      let events = Mailbox<WriteStreamEvent>()
      self.events = events
      stream = service.openWrites(token: token) { events.put($0) }
    }

    /// Waits for the greeting's answer.
    func greeted() async -> Bool {
      while let event = await events.next() {
        switch event {
        case .greeted: return true
        case .closed: return false
        case .opened, .answered: continue
        }
      }
      return false
    }

    /// Why the stream ended, whatever came before.
    func closed() async -> StatusError? {
      while let event = await events.next() { if case .closed(let error) = event { return error } }
      return nil
    }
  }
#endif
