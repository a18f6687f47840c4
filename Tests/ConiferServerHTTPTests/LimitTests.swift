#if Network
  import ConiferServer
  import ConiferTree
  import NIOCore
  import TestSupport
  import Testing

  @testable import ConiferServerHTTP

  /// What the server holds for its clients is bounded.
  struct LimitTests {
    @Test("A connection too many is refused in words, and one that ends makes room")
    func connections() async throws {
      try await serving {
        $0.limits.connections = 2
      } _: { serving in
        let first = try await serving.client()
        let second = try await serving.client()
        let third = Reader(try serving.socket())
        #expect(try await Reply.next(third)?.status == 503)
        #expect(try await first.ask("s", #"{"c":{}}"#)["s" as Key] == "ok")
        try await second.socket.reset()
        try await eventually("There is no room.") {
          try await serving.ask("GET /.health HTTP/1.1\r\nHost: localhost\r\n\r\n")?.status == 200
        }
      }
    }

    @Test("A session whose client does not read ends when too much waits; others do not notice")
    func slowReader() async throws {
      try await serving {
        $0.limits.unread = 1024 * 1024
      } _: { serving in
        let slow = try await serving.client(receiveBuffer: 4096)
        _ = try await slow.ask("q", #"{"p":"/","h":""}"#)
        _ = try await slow.ask("o", #"{"p":"/slow","d":"gone"}"#)
        let fast = try await serving.client()
        _ = try await fast.ask("q", #"{"p":"/","h":""}"#)
        let text = Node(.string(String(repeating: "x", count: 100_000)))
        // What the system holds for both sides is filled before ours is.
        try await eventually("The slow session goes on.") {
          serving.server.set("text", .empty, in: "demo")
          serving.server.set("text", text, in: "demo")
          _ = try await fast.ask("s", #"{"c":{}}"#)
          return serving.server.sessions(in: "demo") == [fast.session]
        }
        #expect(serving.server.data("slow", in: "demo") == "gone")
        #expect(try await fast.ask("g", #"{"p":"/text","q":{}}"#)["d" as Key] == text)
      }
    }

    @Test("A session whose client reads nothing at all ends after a time, however little waits")
    func stuckReader() async throws {
      try await serving { configuration in
        configuration.timeouts.write = .milliseconds(200)
      } _: { serving in
        let slow = try await serving.client(receiveBuffer: 4096)
        // Far more than the system takes, far less than the limit.
        let text = Node(.string(String(repeating: "x", count: 9_000_000)))
        serving.server.set("text", text, in: "demo")
        try await slow.send("g", #"{"p":"/text","q":{}}"#)
        try await eventually("The stuck session goes on.") {
          serving.server.sessions(in: "demo").isEmpty
        }
      }
    }

    @Test("All slow readers together hold no more than they may")
    func total() async throws {
      try await serving {
        $0.limits.total = 2 * 1024 * 1024
      } _: { serving in
        var slow: [WebSocketClient] = []
        for _ in 0..<4 {
          let client = try await serving.client(receiveBuffer: 4096)
          _ = try await client.ask("q", #"{"p":"/","h":""}"#)
          slow.append(client)
        }
        let text = Node(.string(String(repeating: "x", count: 100_000)))
        let asking = try await serving.client()
        try await eventually("The slow sessions go on.") {
          serving.server.set("text", .empty, in: "demo")
          serving.server.set("text", text, in: "demo")
          _ = try await asking.ask("s", #"{"c":{}}"#)
          return serving.server.sessions(in: "demo").count < 5
        }
        #expect(serving.server.sessions(in: "demo").last == asking.session)
      }
    }

    @Test("Frames that never end hold no more than they may together")
    func unfinished() async throws {
      try await serving {
        $0.limits.total = 2 * 1024 * 1024
      } _: { serving in
        var clients: [WebSocketClient] = []
        for _ in 0..<4 { clients.append(try await serving.client()) }
        // Each has its part of the 2 MiB, and one begins a frame of more.
        let frame = WebSocketClient.frame([UInt8](repeating: 0x20, count: 4 * 1024 * 1024))
        try? await clients[0].socket.send(Array(frame.prefix(3 * 1024 * 1024)))
        try await eventually("The session goes on.") {
          serving.server.sessions(in: "demo").count == 3
        }
        #expect(try await clients[1].ask("s", #"{"c":{}}"#)["s" as Key] == "ok")
      }
    }

    @Test("Requests beyond those that wait for answers are read later, and none is lost")
    func unanswered() async throws {
      try await serving {
        $0.limits.unanswered = 2
      } _: { serving in
        let client = try await serving.client()
        var bytes: [UInt8] = []
        for number in 1...500 {
          bytes += WebSocketClient.frame(
            Array(#"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/n","d":\#(number)}}}"#.utf8))
        }
        try await client.socket.send(bytes)
        for number in 1...500 {
          #expect(try await client.message()?["d/r" as Path] == Node(.integer(Int64(number))))
        }
        #expect(serving.server.data("n", in: "demo") == 500)
      }
    }

    @Test("Databases beyond the limit are refused, and those that are there go on")
    func namespaces() async throws {
      try await serving {
        $0.limits.namespaces = 1
      } _: { serving in
        let client = try await serving.client()
        let refused = try await serving.client("/.ws?v=5&ns=other")
        #expect(refused.reply?.status == 503)
        #expect(try await client.ask("s", #"{"c":{}}"#)["s" as Key] == "ok")
      }
    }

    @Test("A database that cannot be made ready is refused, and tried again")
    func prepare() async throws {
      let box = Counter()
      try await serving { configuration in
        configuration.prepare = { _ in
          if box.next() == 1 { throw Socket.Failure(words: "Not yet.") }
        }
      } _: { serving in
        let refused = try await serving.client()
        #expect(refused.reply?.status == 503)
        let clients = [try await serving.client(), try await serving.client()]
        for client in clients { #expect(client.reply?.status == 101) }
        // Once for all that use it at a time.
        #expect(box.count == 2)
      }
    }

    @Test(
      "A body whose length no body has, or that is none, is refused before any of it comes",
      arguments: [
        (["9223372036854775807"], 413), (["9223372036854775808"], 413),
        (["18446744073709551615"], 413), (["18446744073709551616"], 400),
        (["99999999999999999999999999"], 400), (["-1"], 400), (["+1"], 400), (["0x10"], 400),
        (["1e3"], 400), (["1 2"], 400), (["1, 2"], 400), (["5", "6"], 400), ([""], 400),
        (["268435457"], 413),
      ])
    func contentLength(_ lengths: [String], _ status: Int) async throws {
      try await serving { configuration in
        // Nothing but the answer may end it.
        configuration.timeouts.idle = .seconds(3600)
        configuration.timeouts.request = .seconds(3600)
      } _: { serving in
        let headers = lengths.map { "Content-Length: \($0)\r\n" }.joined()
        let reply = try await serving.ask(
          "PUT /a.json?ns=demo HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n")
        #expect(reply?.status == status)
      }
    }

    @Test(
      "A body counts with what its tree takes; one alone is taken, two are not, nor one too large")
    func bodies() async throws {
      let entered = Counter()
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      let responder = ClosureResponder { _ in
        entered.next()
        for await _ in gate { break }
        return HTTPResponse(status: 200)
      }
      // As text far below the limit, as a tree far above it.
      let body = "[" + Array(repeating: "1", count: 20_000).joined(separator: ",") + "]"
      let request =
        "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
      try await serving(responders: [responder]) {
        $0.limits.total = 2_000_000
      } _: { serving in
        #expect(body.utf8.count < 50_000)
        let large = "[" + Array(repeating: "1", count: 40_000).joined(separator: ",") + "]"
        let refused = try await serving.ask(
          "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(large.utf8.count)\r\n\r\n"
            + large)
        #expect(refused?.status == 413)
        let first = Reader(try serving.socket())
        try await first.socket.send(request + body)
        try await eventually("The first is not asked.") { entered.count == 1 }
        #expect(serving.http.connections.bytes > 1_000_000)
        #expect(try await serving.ask(request + body)?.status == 503)
        // Who asks for little is answered.
        let small = Reader(try serving.socket())
        try await small.socket.send(
          "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1")
        try await eventually("The small one is not asked.") { entered.count == 2 }
        opener.finish()
        #expect(try await Reply.next(first)?.status == 200)
        #expect(try await Reply.next(small)?.status == 200)
        #expect(try await serving.ask(request + body)?.status == 200)
        try await eventually("Something is still counted.") { serving.http.connections.bytes == 0 }
      }
    }

    @Test(
      "The system asks silent clients whether they are there, and no client is pinged in a minute")
    func keepAlive() async throws {
      let timeouts = HTTPServerTimeouts()
      #expect(timeouts.ping > .seconds(60) && timeouts.silence > timeouts.ping)
      try await serving { serving in
        let client = try await serving.client()
        let channel = try #require(serving.http.connections.open.first)
        #expect(try await channel.getOption(.socketOption(.so_keepalive)).get() != 0)
        #expect(try await channel.getOption(.tcpOption(.keepAliveIdle)).get() == 30)
        #expect(try await channel.getOption(.tcpOption(.keepAliveInterval)).get() == 10)
        #expect(try await channel.getOption(.tcpOption(.keepAliveCount)).get() == 3)
        #expect(client.session != "")
      }
    }
  }
#endif
