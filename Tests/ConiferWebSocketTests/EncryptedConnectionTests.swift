#if Network
  import ConiferWire
  import NIOHTTP1
  import Testing

  @testable import ConiferWebSocket

  @Suite(.timeLimit(.minutes(10))) struct EncryptedConnectionTests {
    @Test(arguments: ["localhost", "127.0.0.1"])
    func `A certificate that is trusted lets messages through`(_ host: String) async throws {
      let server = try await ScriptedServer(security: try Certificate.context())
      var options = WebSocketOptions()
      options.trustedCertificates = Array(Certificate.pem.utf8)
      let transport = WebSocketTransport("wss://\(host):\(server.port)", options: options)
      let client = ClientLine(transport)
      let socket = try #require(await server.next())
      #expect(socket.head?.headers["Host"] == ["\(host):\(server.port)"])
      socket.send(.pong)
      #expect(await client.message() == .pong)
      client.send(.keepAlive)
      #expect(await socket.next() == "0")
    }

    @Test func `One that is not trusted, or of another name, ends the attempt`() async throws {
      let server = try await ScriptedServer(security: try Certificate.context())
      let strange = ClientLine(WebSocketTransport("wss://localhost:\(server.port)"))
      #expect(await strange.words().contains("opens no WebSocket"))
      let plain = try await ScriptedServer()
      let mistaken = ClientLine(WebSocketTransport("wss://localhost:\(plain.port)"))
      #expect(await mistaken.words().contains("opens no WebSocket"))
    }

    @Test func `Certificates that are none are told`() async {
      var options = WebSocketOptions()
      options.trustedCertificates = Array("nonsense".utf8)
      let client = ClientLine(WebSocketTransport("wss://localhost:1", options: options))
      #expect(await client.words().contains("certificates cannot be used"))
    }
  }
#endif
