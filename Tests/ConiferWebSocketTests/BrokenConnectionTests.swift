#if Network
  import ConiferWire
  import NIOCore
  import NIOWebSocket
  import Testing

  @testable import ConiferWebSocket

  /// What is wrong ends the connection with words, and never more than that.
  @Suite(.timeLimit(.minutes(10))) struct BrokenConnectionTests {
    private func transport(
      _ url: String, _ change: (inout WebSocketOptions) -> Void = { _ in }
    ) -> WebSocketTransport {
      var options = WebSocketOptions()
      change(&options)
      return WebSocketTransport(url, options: options)
    }

    /// The words with which a connection ends after a server did something.
    private func words(
      limit: Int = 256 << 20, _ act: (ScriptedSocket) async throws -> Void
    ) async throws -> String {
      let server = try await ScriptedServer()
      let client = ClientLine(transport(server.url) { $0.messageLimit = limit })
      try await act(try #require(await server.next()))
      return await client.words()
    }

    @Test func `Messages that are invalid end the connection`() async throws {
      for text in ["{", "null", #"{"t":"d","d":{"r":1,"b":{}}}"#, "2\u{0}"] {
        #expect(try await words { $0.send(text) }.contains("is invalid"), "\(text)")
      }
      #expect(try await words { $0.send(.binary, "{}") }.contains("no text"))
      #expect(try await words { $0.send(.continuation, "{}") }.contains("no message"))
      let mixed = try await words {
        $0.send(.text, "{", fin: false)
        $0.send(.text, "}")
      }
      #expect(mixed.contains("mixes"))
    }

    @Test func `The server is told why`() async throws {
      let server = try await ScriptedServer()
      let client = ClientLine(transport(server.url))
      let socket = try #require(await server.next())
      socket.send("{")
      #expect(await client.words().contains("is invalid"))
      #expect(await socket.next() == "close 1003")
    }

    @Test func `Messages that are too large end the connection, however they come`() async throws {
      let part = String(repeating: "x", count: 600)
      #expect(try await words(limit: 1000) { $0.send(part + part) }.contains("1000 bytes"))
      #expect(try await words(limit: 1000) { $0.send("999999") }.contains("1000 bytes"))
      let counted = try await words(limit: 1000) { socket in
        for frame in ["2", part, part] { socket.send(frame) }
      }
      #expect(counted.contains("1000 bytes"))
      let fragmented = try await words(limit: 1000) { socket in
        socket.send(.text, part, fin: false)
        socket.send(.continuation, part)
      }
      #expect(fragmented.contains("1000 bytes"))
      // The head of a frame alone tells its length.
      let huge = try await words(limit: 1000) {
        try await $0.send(raw: [0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0])
      }
      #expect(huge.contains("1000 bytes"))
    }

    @Test func `Frames that are none end the connection`() async throws {
      // A control frame in parts, and one with more bytes than such may have.
      #expect(try await words { try await $0.send(raw: [0x09, 0]) }.contains("frame"))
      #expect(try await words { try await $0.send(raw: [0x89, 126, 1, 0]) }.contains("frame"))
    }

    @Test func `A connection that is cut in the middle of a frame is lost`() async throws {
      for bytes: [UInt8] in [[0x81], [0x81, 100, 0x7B, 0x22], [0x81, 127, 0, 0, 0]] {
        let cut = try await words {
          try await $0.send(raw: bytes)
          $0.close()
        }
        #expect(cut == "The connection was lost.")
      }
      let betweenFrames = try await words {
        $0.send("2")
        $0.send(#"{"t":"d","#)
        $0.close()
      }
      #expect(betweenFrames == "The connection was lost.")
    }

    @Test func `A server that says goodbye is quoted`() async throws {
      let words = try await words { try await $0.send(raw: [0x88, 5, 0x03, 0xE9, 98, 121, 101]) }
      #expect(words == "The server closed the connection: bye")
    }

    @Test func `A server without WebSockets is told from one that is not there`() async throws {
      let server = try await ScriptedServer(isRaw: true)
      let client = ClientLine(transport(server.url))
      let socket = try #require(await server.next())
      let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"
      try await socket.send(raw: Array(answer.utf8))
      #expect(await client.words().contains("404"))
      // No system gives this port to a server that asks for any.
      let nowhere = await ClientLine(transport("ws://127.0.0.1:1")).words()
      #expect(nowhere.contains("cannot be reached"), "\(nowhere)")
    }

    @Test func `An answer that is no HTTP ends the attempt`() async throws {
      let server = try await ScriptedServer(isRaw: true)
      let client = ClientLine(transport(server.url))
      try await #require(await server.next()).send(raw: Array("SSH-2.0-x\r\n\r\n".utf8))
      #expect(await client.words().contains("opens no WebSocket"))
    }

    @Test func `A server that takes the connection and says nothing is given up`() async throws {
      let server = try await ScriptedServer(isRaw: true)
      var (time, words) = (Duration.milliseconds(50), "")
      // On a busy machine the time may pass before the server takes the connection.
      repeat {
        let client = ClientLine(transport(server.url) { $0.connectTime = time })
        words = await client.words()
        time *= 2
      } while (server.taken == 0 || !words.contains("in time")) && !Task.isCancelled
      #expect(words == "The server did not open a WebSocket in time.")
      try await #require(await server.next()).channel.closeFuture.get()
    }

    @Test func `An attempt that is not wanted any more ends at once`() async throws {
      let server = try await ScriptedServer(isRaw: true)
      let client = ClientLine(transport(server.url))
      let socket = try #require(await server.next())
      client.connection.close()
      #expect(await client.words() == "The client closed the connection.")
      try await socket.channel.closeFuture.get()
    }

    @Test func `A server that does not answer a goodbye is left`() async throws {
      let server = try await ScriptedServer(isReading: false)
      let client = ClientLine(transport(server.url) { $0.closeTime = .milliseconds(50) })
      let socket = try #require(await server.next())
      socket.send(.pong)
      #expect(await client.message() == .pong)
      client.connection.close()
      #expect(await client.words() == "The client closed the connection.")
      // Nobody said goodbye; what the server had not read is lost with the connection.
      try? await socket.channel.setOption(.autoRead, value: true).get()
      try await socket.channel.closeFuture.get()
    }

    @Test(arguments: ["", "localhost", "ftp://a", "ws://", "ws://a:x", "ws://a:99999", "ws://a b"])
    func `A URL that is none is told`(_ url: String) async {
      #expect(await ClientLine(transport(url)).words().contains("is no URL"))
    }

    @Test func `URLs are read as they are meant`() {
      let addresses = [
        "wss://Example.com": "Example.com", "https://a:443/b": "a", "ws://a": "a",
        "http://a:8080?ns=x": "a:8080", "ws://[::1]:9000": "[::1]:9000", "WSS://a:80": "a:80",
      ]
      for (url, authority) in addresses {
        #expect(WebSocketAddress(url: url)?.authority == authority, "\(url)")
      }
      #expect(WebSocketAddress(url: "ws://[::1]:9000")?.host == "::1")
      #expect(WebSocketAddress(url: "wss://a")?.port == 443)
    }
  }
#endif
