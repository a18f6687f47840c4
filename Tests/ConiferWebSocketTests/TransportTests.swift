#if Network
  import ConiferTree
  import ConiferWire
  import NIOCore
  import NIOHTTP1
  import NIOWebSocket
  import NetworkTestSupport
  import Testing

  @testable import ConiferWebSocket

  @Suite(.timeLimit(.minutes(10))) struct TransportTests {
    private let hello = ServerMessage.hello(Hello(timestamp: 7, host: "h:1", session: "s-1"))

    private func options(_ change: (inout WebSocketOptions) -> Void) -> WebSocketOptions {
      var options = WebSocketOptions()
      change(&options)
      return options
    }

    /// A client and its socket at the server, with hello said.
    private func pair(
      _ server: ScriptedServer, _ options: WebSocketOptions = WebSocketOptions()
    ) async throws -> (ClientLine, ScriptedSocket) {
      let client = ClientLine(WebSocketTransport(server.url, options: options))
      let socket = try #require(await server.next())
      socket.send(hello)
      #expect(await client.message() == hello)
      return (client, socket)
    }

    @Test func `The request names protocol, database, session and host`() async throws {
      let server = try await ScriptedServer()
      let client = ClientLine(
        WebSocketTransport(server.url + "/?ns=other"),
        ConnectionRequest(namespace: "my app/é", lastSession: "a&b"))
      let head = try #require(await server.next()?.head)
      #expect(head.uri == "/.ws?v=5&ns=my%20app%2F%C3%A9&ls=a%26b")
      #expect(head.headers["Host"] == ["127.0.0.1:\(server.port)"])
      #expect(head.headers["User-Agent"].first?.hasPrefix("Conifer/5/") == true)
      client.connection.close()
    }

    @Test func `The request shows the app's token, unless it is no header's value`() async throws {
      let server = try await ScriptedServer()
      for (token, shown) in [("a.b-c", ["a.b-c"]), ("a\r\nb", [])] {
        var request = ConnectionRequest(namespace: "ns")
        request.appToken = Credential(token)
        let client = ClientLine(WebSocketTransport(server.url), request)
        let head = try #require(await server.next()?.head)
        #expect(head.headers["X-Firebase-AppCheck"] == shown)
        client.connection.close()
      }
    }

    @Test func `Programs that a process starts do not get its connection`() async throws {
      let server = try await ScriptedServer()
      let (client, _) = try await pair(server)
      let files = Sockets.files(to: server.port)
      #expect(files.count == 1 && files.allSatisfy(Sockets.isKeptFromChildren))
      client.connection.close()
    }

    @Test func `A way to another host leads there, with the same options`() async throws {
      let (server, other) = (try await ScriptedServer(), try await ScriptedServer())
      let transport = WebSocketTransport(server.url, options: options { $0.userAgent = "mine" })
      let led = try #require(
        transport.leading(to: "127.0.0.1:\(other.port)", isSecure: false) as? WebSocketTransport)
      let client = ClientLine(led)
      let head = try #require(await other.next()?.head)
      #expect(head.headers["Host"] == ["127.0.0.1:\(other.port)"])
      #expect(head.headers["User-Agent"] == ["mine"])
      client.connection.close()
      #expect(transport.leading(to: "a.example", isSecure: true)?.description == "wss://a.example")
    }

    @Test func `What is sent before the connection is open arrives first, in order`() async throws {
      let server = try await ScriptedServer()
      let client = ClientLine(WebSocketTransport(server.url))
      for number in 1...50 { client.send(.request(UInt64(number), .unauthenticate)) }
      let socket = try #require(await server.next())
      client.send(.keepAlive)
      for number in 1...50 {
        #expect(try await socket.message() == .request(UInt64(number), .unauthenticate))
      }
      #expect(await socket.next() == "0")
    }

    @Test func `The first words may come together with the opening`() async throws {
      let server = try await ScriptedServer()
      for _ in 0..<8 {
        let (client, socket) = try await pair(server)
        socket.close()
        #expect(await client.words() == "The connection was lost.")
      }
    }

    @Test func `Long messages travel in counted frames, both ways`() async throws {
      let server = try await ScriptedServer()
      let (client, socket) = try await pair(server)
      let text = String(repeating: "𝄞é", count: 30_000)
      client.send(.request(1, .put("a", Node(.string(text)), hash: nil)))
      let count = try #require(await socket.next().flatMap { Int($0) })
      #expect(count == 6)
      var assembler = FrameAssembler(limit: 1 << 20)
      #expect(assembler.add(Array("\(count)".utf8)) == nil)
      var message: [UInt8]?
      for _ in 0..<count {
        let frame = try #require(await socket.next())
        #expect(frame.utf16.count <= Frames.size)
        message = assembler.add(Array(frame.utf8))?.text
      }
      #expect(
        try message.map { (bytes) throws in try ClientMessage(decoding: bytes) }
          == .request(1, .put("a", Node(.string(text)), hash: nil)))

      let push = ServerMessage.push(.overwrite("a", Node(.string(text)), tag: nil))
      socket.send(push)
      #expect(await client.message() == push)
      // All in one frame, as servers may, and in parts as WebSockets have them.
      let whole = String(decoding: push.encoded(), as: UTF8.self)
      socket.send(whole)
      #expect(await client.message() == push)
      let cut = whole.index(whole.startIndex, offsetBy: 999)
      socket.send(.text, String(whole[..<cut]), fin: false)
      socket.send(.ping, "are you there")
      socket.send(.continuation, "", fin: false)
      socket.send(.continuation, String(whole[cut...]))
      #expect(await client.message() == push)
      #expect(await socket.next() == "pong are you there")
    }

    @Test func `A redirection and a farewell arrive, and the host that is named is used`()
      async throws
    {
      let server = try await ScriptedServer()
      let (client, socket) = try await pair(server)
      socket.send(.reset(host: "other:1"))
      socket.send(.shutdown("why"))
      #expect(await client.message() == .reset(host: "other:1"))
      #expect(await client.message() == .shutdown("why"))

      let other = try await ScriptedServer()
      let redirected = ClientLine(
        WebSocketTransport(server.url),
        ConnectionRequest(namespace: "ns", host: "127.0.0.1:\(other.port)"))
      #expect(await other.next()?.head?.headers["Host"] == ["127.0.0.1:\(other.port)"])
      redirected.connection.close()
      let lost = ClientLine(
        WebSocketTransport(server.url), ConnectionRequest(namespace: "ns", host: "a b"))
      #expect(await lost.words() == "The server sends the client to a host that is none.")
    }

    @Test func `Closing sends what was sent before, then says goodbye, once`() async throws {
      let server = try await ScriptedServer()
      let (client, socket) = try await pair(server)
      let data = Node(.string(String(repeating: "x", count: 100_000)))
      for number in 1...20 { client.send(.request(UInt64(number), .put("a", data, hash: nil))) }
      client.connection.close()
      client.connection.close()
      client.send(.keepAlive)
      for number in 1...20 {
        #expect(try await socket.message() == .request(UInt64(number), .put("a", data, hash: nil)))
      }
      #expect(await socket.next() == "close 1000")
      #expect(await socket.next() == nil)
      #expect(await client.words() == "The client closed the connection.")
    }

    @Test func `Sending never waits for a server that does not read`() async throws {
      let server = try await ScriptedServer(isReading: false)
      let (client, socket) = try await pair(server)
      let data = Node(.string(String(repeating: "x", count: 200_000)))
      for number in 1...60 { client.send(.request(UInt64(number), .put("a", data, hash: nil))) }
      // Twelve megabytes are more than the system holds for a socket.
      try await socket.channel.setOption(.autoRead, value: true).get()
      for number in 1...60 {
        #expect(try await socket.message() == .request(UInt64(number), .put("a", data, hash: nil)))
      }
    }

    @Test func `A database's configuration names it by a URL`() {
      let transport: (any Transport)? = .webSocket("ws://localhost:9000")
      #expect(transport?.description == "ws://localhost:9000")
    }
  }
#endif
