#if GRPC
  import ConiferProtobuf
  import ConiferDocument
  import ConiferWire
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import NetworkTestSupport
  import TestSupport
  import Testing

  @testable import ConiferGRPC

  @Suite("Connections over gRPC", .timeLimit(.minutes(5)))
  struct ConnectionTests {
    private var security: HTTP2ServerTransport.Posix.TransportSecurity {
      .tls(
        certificateChain: [.bytes(Array(Certificate.pem.utf8), format: .pem)],
        privateKey: .bytes(Array(Certificate.key.utf8), format: .pem))
    }

    @Test(
      "A certificate that is trusted lets messages through", arguments: ["localhost", "127.0.0.1"])
    func trusted(_ host: String) async throws {
      let server = try await ScriptedServer(security: security)
      let line = WatchLine(
        try service(server.port, host: host, isSecure: true) {
          $0.trustedCertificates = Array(Certificate.pem.utf8)
        })
      #expect(await line.opened())
      let call = try await server.next()
      try call.send(Answers.target(.noChange, token: "t", at: 7))
      #expect(try await line.said().1 == Timestamp(seconds: 7))
      line.stream.close()
    }

    @Test("Programs that a process starts do not get its connection")
    func notInherited() async throws {
      let server = try await ScriptedServer()
      let line = WatchLine(try service(server.port))
      #expect(await line.opened())
      let files = Sockets.files(to: server.port)
      #expect(files.count == 1 && files.allSatisfy(Sockets.isKeptFromChildren))
      line.stream.close()
    }

    @Test("One that is not trusted, and a server without one, are told")
    func strange() async throws {
      let server = try await ScriptedServer(security: security)
      let line = WatchLine(try service(server.port, host: "localhost", isSecure: true))
      #expect(await line.end()?.code == .unavailable)
      let plain = try await ScriptedServer()
      let mistaken = WatchLine(try service(plain.port, host: "localhost", isSecure: true))
      #expect(await mistaken.end()?.code == .unavailable)
      let nonsense = WatchLine(
        try service(plain.port, isSecure: true) { $0.trustedCertificates = Array("x".utf8) })
      let error = await nonsense.end()
      #expect(error?.message.contains("cannot be made") == true)
    }

    @Test("A server that falls silent is given up")
    func keepAlive() async throws {
      let server = try SilentServer()
      let line = WatchLine(
        try service(server.port) {
          // Asked that often, the server would never be given up.
          $0.keepAlive = .milliseconds(20)
          $0.keepAliveTimeout = .milliseconds(100)
          // Nothing else gives it up.
          $0.openTimeout = .seconds(600)
        })
      // On a busy machine even before the stream is open.
      #expect(await line.end()?.code == .unavailable)
    }

    @Test(
      "A server that takes the connection and says nothing is given up, by streams and requests")
    func mute() async throws {
      let server = try SilentServer(speaks: false)
      let error = await WatchLine(
        try service(server.port) { $0.openTimeout = .milliseconds(50) }
      ).end()
      #expect(error?.code == .unavailable && error?.message.contains("did not answer") == true)
      let other = try SilentServer(speaks: false)
      let asked = try service(other.port) { $0.openTimeout = .milliseconds(50) }
      let refused = await #expect(throws: StatusError.self) {
        try await asked.lookup([try DocumentPath("a/b")], token: nil)
      }
      #expect(refused?.code == .unavailable)
    }

    @Test(
      "A connection on which nothing comes is given up with the stream that was closed before it was open"
    )
    func closedBeforeOpen() async throws {
      let server = try await ScriptedServer()
      let relay = try CountingRelay(to: server.port, silent: 1)
      let service = try service(relay.port) { $0.openTimeout = .seconds(600) }
      let first = WatchLine(service)
      try await eventually("the client connects") { relay.silent.begun == 1 }
      first.stream.close()
      #expect(await first.end() == nil)
      try await eventually("the connection is given up") { relay.silent.ended == 1 }
      let second = WatchLine(service)
      #expect(await second.opened())
      second.stream.close()
    }

    @Test("One that answers signs of life is not")
    func alive() async throws {
      let server = try await ScriptedServer()
      let relay = try CountingRelay(to: server.port)
      let line = WatchLine(
        try service(relay.port) {
          // So long that only a server that is dead would not answer.
          $0.keepAlive = .seconds(5)
          $0.keepAliveTimeout = .seconds(5)
        })
      #expect(await line.opened())
      let call = try await server.next()
      try call.send(Answers.target(.noChange, token: "t", at: 1))
      _ = try await line.said()
      let before = relay.count
      // An answer takes 17 bytes.
      try await eventually("the server answers") { relay.count >= before + 2 * 17 }
      try call.send(Answers.target(.noChange, token: "t", at: 2))
      #expect(try await line.said().1 == Timestamp(seconds: 2))
      line.stream.close()
      #expect(await line.end() == nil)
    }

    @Test(
      "Streams of one service share a connection, and a new attempt after a failure has another at once"
    )
    func attempts() async throws {
      let server = try await ScriptedServer()
      let held = try HeldPort()
      let service = try service(held.port)
      for _ in 0..<5 { #expect(await WatchLine(service).end()?.code == .unavailable) }
      let relay = try held.lead(to: server.port)
      let line = WatchLine(service)
      #expect(await line.opened())
      let call = try await server.next()
      async let documents = service.lookup([try DocumentPath("a/b")], token: nil)
      let get = try await server.next()
      #expect(get.method == "BatchGetDocuments")
      #expect(get.peer == call.peer && !call.peer.isEmpty)
      get.end()
      _ = try? await documents
      line.stream.close()
      withExtendedLifetime(relay) {}
    }

    @Test(
      "A server that is unavailable by its own word keeps its connection, to streams and requests")
    func unavailable() async throws {
      let server = try await ScriptedServer()
      let service = try service(server.port)
      let refusal = RPCError(code: .unavailable, message: "later")
      let line = WatchLine(service)
      let first = try await server.next()
      // With and without headers before.
      try first.send(Answers.target(.noChange, token: "t", at: 7))
      first.end(refusal)
      #expect(await line.end() == StatusError(.unavailable, "later"))
      let next = WatchLine(service)
      let second = try await server.next()
      second.end(refusal)
      #expect(await next.end()?.code == .unavailable)
      let documents = Task { try await service.lookup([DocumentPath("a/b")], token: nil) }
      let get = try await server.next()
      get.end(refusal)
      await #expect(throws: StatusError(.unavailable, "later")) { try await documents.value }
      let last = WatchLine(service)
      let third = try await server.next()
      #expect([second.peer, get.peer, third.peer] == [String](repeating: first.peer, count: 3))
      last.stream.close()
    }

    /// What sends messages begins only when the call is over.
    private struct LateSender: ClientInterceptor {
      func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingClientRequest<Input>, context: ClientContext,
        next: (StreamingClientRequest<Input>, ClientContext) async throws
          -> StreamingClientResponse<Output>
      ) async throws -> StreamingClientResponse<Output> {
        var request = request
        request.producer = { _ in
          let (stream, continuation) = AsyncStream<Void>.makeStream()
          for await _ in stream {}
          withExtendedLifetime(continuation) {}
        }
        return try await next(request, context)
      }
    }

    @Test(
      "A refusal that comes before anything could be sent is the server's word, to streams and requests"
    )
    func refusalBeforeRequest() async throws {
      let server = try await ScriptedServer()
      let service = try service(server.port, interceptors: [LateSender()])
      let refusal = RPCError(code: .unavailable, message: "later")
      let line = WatchLine(service)
      let first = try await server.next()
      // Its headers let the client know that the call is taken, before its end.
      try first.send(Answers.target(.noChange, token: "t", at: 7))
      #expect(await line.opened())
      first.end(refusal)
      #expect(await line.end() == StatusError(.unavailable, "later"))
      let documents = Task { try await service.lookup([DocumentPath("a/b")], token: nil) }
      let get = try await server.next()
      get.end(refusal)
      await #expect(throws: StatusError(.unavailable, "later")) { try await documents.value }
      let last = WatchLine(service)
      let third = try await server.next()
      #expect([get.peer, third.peer] == [first.peer, first.peer])
      last.stream.close()
      third.end()
    }

    @Test("A connection that breaks has the next attempt make another at once")
    func broken() async throws {
      let server = try await ScriptedServer()
      let relay = try CountingRelay(to: server.port, connections: 10)
      let service = try service(relay.port)
      let line = WatchLine(service)
      #expect(await line.opened())
      let first = try await server.next()
      try first.send(Answers.target(.noChange, token: "t", at: 7))
      _ = try await line.said()
      relay.cut()
      let error = await line.end()
      #expect(error?.code == .unavailable && error?.message.contains("was lost") == true)
      let next = WatchLine(service)
      let event = await next.next()
      guard case .opened = event else { throw Ended(instead: String(describing: event)) }
      #expect(try await server.next().peer != first.peer)
      next.stream.close()
    }

    @Test(
      "A connection that has no calls is asked for signs of life, also for those that come then")
    func keepAliveWithoutCalls() async throws {
      let server = try await ScriptedServer()
      let relay = try CountingRelay(to: server.port)
      let service = try service(relay.port) {
        // So long that only a server that is dead would not answer, on a busy machine too.
        $0.keepAlive = .seconds(21)
        $0.keepAliveTimeout = .seconds(20)
        $0.openTimeout = .seconds(600)
        $0.idleTime = .seconds(600)
      }
      let line = WatchLine(service)
      #expect(await line.opened())
      _ = try await server.next()
      line.stream.close()
      #expect(await line.end() == nil)
      let before = relay.count
      // An answer takes 17 bytes.
      try await eventually("the server answers") { relay.count >= before + 2 * 17 }
      let next = WatchLine(service)
      try #require(await next.opened())
      relay.mute()
      let error = await next.end()
      #expect(error?.code == .unavailable)
    }

    @Test("Options and what holds them show no header's value, and tell what else they are")
    func secrets() throws {
      var options = GRPCOptions()
      options.headers = ["x-app": "s3cret"]
      options.answerLimit = 77
      var dumped = ""
      dump(options, to: &dumped)
      dump(DocumentTransport.grpc(to: DatabaseID(project: "test"), options: options), to: &dumped)
      dump(try service(1) { $0 = options }, to: &dumped)
      for text in [dumped, "\(options)", String(reflecting: options)] {
        #expect(!text.contains("s3cret") && text.contains("x-app") && text.contains("77"))
      }
    }

    @Test(
      "A host that is none is told",
      arguments: [
        "", "a b", "[::1", "localhost:0", "x:99999", "a/b", "10.0.2", "127.0.0.1.", "256.1.1.1",
        "8080", "[a:b]", "[fe80::1%en0]:80",
      ])
    func noHost(_ host: String) async throws {
      let transport = DocumentTransport.grpc(to: DatabaseID(project: "test"), host: host)
      let error = await WatchLine(transport.service).end()
      #expect(error?.code == .unavailable && error?.message.contains("is no host") == true)
      await #expect(throws: StatusError.self) {
        try await transport.service.lookup([try DocumentPath("a/b")], token: nil)
      }
    }

    @Test("Hosts have ports, and addresses brackets")
    func hosts() {
      func parts(_ text: String, _ isSecure: Bool = true) -> String? {
        GRPCAddress(text, isSecure: isSecure).map { "\($0.kind) \($0.host) \($0.port)" }
      }
      #expect(parts("example.com") == "name example.com 443")
      #expect(parts("localhost:8080", false) == "name localhost 8080")
      #expect(parts("127.0.0.1", false) == "ipv4 127.0.0.1 80")
      #expect(parts("[::1]:8080") == "ipv6 ::1 8080")
      #expect(parts("[::1]") == "ipv6 ::1 443")
      let transport = DocumentTransport.grpc(to: DatabaseID(project: "test"))
      #expect(transport.description == "https://firestore.googleapis.com:443")
      let emulator = transport.leading(to: "[::1]:8080", isSecure: false)
      #expect(emulator?.description == "http://[::1]:8080")
    }
  }
#endif
