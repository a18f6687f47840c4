#if Network
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import TestSupport
  import Testing

  /// A socket's end is the session's, whatever the end is.
  struct EndTests {
    /// A client whose end will be seen.
    private static func present(_ serving: Serving) async throws -> WebSocketClient {
      let client = try await serving.client()
      _ = try await client.ask("o", #"{"p":"/online","d":null}"#)
      _ = try await client.ask("p", #"{"p":"/online","d":true}"#)
      return client
    }

    private static func expectGone(_ serving: Serving) async throws {
      try await eventually("The session goes on.") {
        serving.server.sessions(in: "demo").isEmpty
      }
      #expect(serving.server.data("online", in: "demo") == .empty)
    }

    @Test("A client that dies is gone, and what waited for that happens")
    func reset() async throws {
      try await serving { serving in
        let client = try await Self.present(serving)
        #expect(serving.server.data("online", in: "demo") == true)
        try await client.socket.reset()
        try await Self.expectGone(serving)
      }
    }

    @Test("A client that will say nothing more is gone")
    func halfClosed() async throws {
      try await serving { serving in
        let client = try await Self.present(serving)
        try await client.socket.endSending()
        try await Self.expectGone(serving)
        #expect(try await client.frame() == nil)
      }
    }

    @Test("A client that is silent is asked for a sign of life, and gone when it gives none")
    func silent() async throws {
      try await serving { configuration in
        configuration.timeouts.ping = .milliseconds(20)
        configuration.timeouts.silence = .milliseconds(200)
      } _: { serving in
        // All at once, so that nothing is late: the last word for long.
        let request = #"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/gone","d":true}}}"#
        let client = try await WebSocketClient(
          port: serving.port, ahead: WebSocketClient.frame(Array(request.utf8)))
        // The socket stays open: what a cut cable looks like.
        try await eventually("The session goes on.") {
          serving.server.sessions(in: "demo").isEmpty
        }
        #expect(serving.server.data("gone", in: "demo") == true)
        #expect(client.session != "")
      }
    }

    @Test("A client that gives signs of life stays")
    func alive() async throws {
      try await serving { configuration in
        configuration.timeouts.ping = .milliseconds(20)
        configuration.timeouts.silence = .seconds(3600)
      } _: { serving in
        let client = try await Self.present(serving)
        // What asked while it became present was passed over, and nothing asks twice.
        try await client.socket.send(WebSocketClient.frame([], .pong))
        for _ in 0..<3 {
          #expect(try await client.frame()?.opcode == .ping)
          try await client.socket.send(WebSocketClient.frame([], .pong))
        }
        #expect(serving.server.sessions(in: "demo") == [client.session])
      }
    }

    @Test("The server ends sessions with words")
    func evicted() async throws {
      try await serving { serving in
        let client = try await Self.present(serving)
        serving.server.disconnectAll(in: "demo", reason: "Enough.")
        let frame = try await client.frame()
        #expect(frame?.code == 1001)
        #expect(frame?.bytes.dropFirst(2) == Array("Enough.".utf8)[...])
        try await Self.expectGone(serving)
      }
    }

    @Test("A server that stops closes its WebSockets and runs what waited for their ends")
    func stopped() async throws {
      let server = Server()
      try await serving(server) { serving in
        let client = try await Self.present(serving)
        async let stopped: Void = serving.http.stop()
        #expect(try await client.closeCode() == 1001)
        try await client.socket.send(WebSocketClient.frame([0x03, 0xE9], .close))
        await stopped
        #expect(try await client.frame() == nil)
        #expect(server.data("online", in: "demo") == .empty)
        #expect(throws: Socket.Failure.self) { try serving.socket() }
      }
    }
  }
#endif
