#if Network
  import ConiferServer
  import ConiferServerHTTP
  import TestSupport
  import Testing

  /// HTTP/1.1 as clients speak it.
  struct HTTPTests {
    private static let responders: [any HTTPResponder] = [HealthResponder(), ClosureResponder.echo]

    @Test("Requests that are sent ahead are answered in order, on one connection")
    func pipelining() async throws {
      let order = Counter()
      let responder = ClosureResponder { request in
        // Later requests would be faster.
        let number = Int(request.path.dropFirst()) ?? 0
        if number < 3 { try? await Task.sleep(for: .milliseconds(20)) }
        return HTTPResponse(
          status: 200, body: .bytes(Array("\(request.path) \(order.next())".utf8)))
      }
      try await serving(responders: [responder]) { serving in
        let reader = Reader(try serving.socket())
        let requests = (1...200).map { number in
          "PUT /\(number) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        }
        try await reader.socket.send(requests.joined())
        for number in 1...200 {
          #expect(try await Reply.next(reader)?.text == "/\(number) \(number)")
        }
      }
    }

    @Test(
      "Requests that are sent ahead of what is none are answered, also when nobody reads at once",
      arguments: [
        ("", "GARBAGE\r\n\r\n", [400]), ("", "GET / HTTP/1.1\r\n\r\n", [400]),
        ("", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", [403]),
        ("", "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 5000))\r\n\r\n", [431]),
        ("Connection: close\r\n", "GET /4 HTTP/1.1\r\nHost: localhost\r\n\r\n", []),
        ("Connection: close\r\n", "GARBAGE\r\n\r\n", []),
      ])
    func ahead(_ header: String, _ last: String, _ statuses: [Int]) async throws {
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      let entered = Counter()
      let responder = ClosureResponder { request in
        if entered.next() == 1 { for await _ in gate { break } }
        return HTTPResponse(status: 200, body: .bytes(Array(request.path.utf8)))
      }
      try await serving(responders: [responder]) {
        $0.limits.head = 4096
      } _: { serving in
        let reader = Reader(try serving.socket())
        let request = { (number: Int, header: String) in
          "GET /\(number) HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n"
        }
        try await reader.socket.send(
          request(1, "") + request(2, "") + request(3, header) + last)
        try await eventually("It is not asked.") { entered.count == 1 }
        opener.finish()
        for number in 1...3 { #expect(try await Reply.next(reader)?.text == "/\(number)") }
        for status in statuses { #expect(try await Reply.next(reader)?.status == status) }
        #expect(try await Reply.next(reader) == nil)
        #expect(entered.count == 3)
      }
    }

    @Test("A request is taken apart: method, path, query, database, body in chunks")
    func parts() async throws {
      try await serving(responders: Self.responders) { serving in
        let reply = try await serving.ask(
          "PATCH /a%20b/c.json?x=%22n%22&ns=my-db&flag&y=1+2 HTTP/1.1\r\nHost: localhost\r\n"
            + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        #expect(
          reply?.text == #"PATCH /a%20b/c.json x="n"&ns=my-db&flag=&y=1 2 my-db abcde"#)
        #expect(reply?.headers["connection"] == "close")
        #expect(reply?.headers["date"]?.hasSuffix(" GMT") == true)
        #expect(reply?.headers["etag"] == "e1")
      }
    }

    @Test("A connection is kept or closed as the client wants it")
    func keepAlive() async throws {
      try await serving(responders: Self.responders) { serving in
        let reader = Reader(try serving.socket())
        try await reader.socket.send(
          "GET /1 HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
        #expect(try await Reply.next(reader)?.headers["connection"] == "keep-alive")
        try await reader.socket.send("GET /2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await Reply.next(reader)?.status == 200)
        try await reader.socket.send(
          "GET /3 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(try await Reply.next(reader)?.text == "GET /3  default ")
        #expect(try await Reply.next(reader) == nil)
        let old = Reader(try serving.socket())
        try await old.socket.send("GET /4 HTTP/1.0\r\nHost: localhost\r\n\r\n")
        #expect(try await Reply.next(old)?.status == 200)
        #expect(try await Reply.next(old) == nil)
      }
    }

    @Test("HEAD is answered as GET without the body")
    func head() async throws {
      try await serving(responders: Self.responders) { serving in
        let reader = Reader(try serving.socket())
        try await reader.socket.send(
          "HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\nGET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let head = try await Reply.next(reader, hasBody: false)
        let get = try await Reply.next(reader)
        #expect(get?.text == "GET /x  default ")
        #expect(head?.headers["content-length"] == get?.headers["content-length"])
        #expect(head?.headers["etag"] == "e1")
      }
    }

    @Test("Pages of this machine may ask, and of the origins that are named")
    func origins() async throws {
      let host = "Host: localhost:9000\r\n"
      let ask = "\(host)Origin: http://localhost:5173\r\n"
      let preflight =
        "OPTIONS /x.json HTTP/1.1\r\n\(ask)Access-Control-Request-Method: PUT\r\n"
        + "Access-Control-Request-Headers: if-match\r\n\r\n"
      try await serving(responders: Self.responders) { serving in
        let reply = try await serving.ask(preflight)
        #expect(reply?.status == 204)
        #expect(reply?.headers["access-control-allow-origin"] == "http://localhost:5173")
        #expect(reply?.headers["access-control-allow-methods"]?.contains("PUT") == true)
        #expect(reply?.headers["access-control-allow-headers"] == "if-match")
        let get = try await serving.ask("GET /x HTTP/1.1\r\n\(ask)\r\n")
        #expect(get?.headers["access-control-allow-origin"] == "http://localhost:5173")
        #expect(get?.headers["access-control-expose-headers"]?.contains("etag") == true)
        let other = try await serving.ask(
          "GET /x HTTP/1.1\r\n\(host)Origin: http://a.example\r\n\r\n")
        #expect(other?.status == 403)
      }
      try await serving(responders: Self.responders) {
        $0.origins = ["*"]
      } _: { serving in
        let get = try await serving.ask(
          "GET /x HTTP/1.1\r\n\(host)Origin: http://a.example\r\n\r\n")
        #expect(get?.headers["access-control-allow-origin"] == "*")
      }
      try await serving(responders: Self.responders) {
        $0.origins = ["http://b.example"]
      } _: { serving in
        #expect(try await serving.ask(preflight)?.status == 403)
        #expect(try await serving.ask("GET /x HTTP/1.1\r\n\(ask)\r\n")?.status == 403)
        let socket = try await WebSocketClient(
          port: serving.port, headers: ["Origin: http://localhost:5173"])
        #expect(socket.reply?.status == 403)
        let allowed = try await serving.ask(
          "GET /x HTTP/1.1\r\n\(host)Origin: http://b.example\r\n\r\n")
        #expect(allowed?.headers["access-control-allow-origin"] == "http://b.example")
        #expect(allowed?.headers["vary"] == "origin")
        // The server's own page.
        let own = try await serving.ask(
          "PUT /x HTTP/1.1\r\n\(host)Origin: http://localhost:9000\r\nContent-Length: 0\r\n\r\n")
        #expect(own?.status == 200)
      }
    }

    @Test("A body that is awaited is asked for")
    func expectContinue() async throws {
      try await serving(responders: Self.responders) { serving in
        let reader = Reader(try serving.socket())
        try await reader.socket.send(
          "PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        #expect(try await Reply.next(reader)?.status == 100)
        try await reader.socket.send("ab")
        #expect(try await Reply.next(reader)?.text == "PUT /x  default ab")
        let other = try await serving.ask(
          "PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: luck\r\n\r\n")
        #expect(other?.status == 417)
      }
    }

    struct Bad: CustomTestStringConvertible, Sendable {
      let request: String
      let status: Int

      var testDescription: String { "\(status) \(request.prefix(24))" }
    }

    static let bad: [Bad] = [
      Bad(request: "GARBAGE\r\n\r\n", status: 400),
      Bad(request: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 400),
      Bad(request: "GET x HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 400),
      Bad(request: "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 400),
      Bad(request: "GET /?a=%ff HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 400),
      Bad(request: "GET /?ns=.. HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 400),
      Bad(request: "TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 405),
      Bad(
        request:
          "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 5000))\r\n\r\n",
        status: 431),
      Bad(
        request: "GET / HTTP/1.1\r\nHost: localhost\r\n"
          + (0..<200).map { "X\($0): 1\r\n" }.joined() + "\r\n", status: 431),
      Bad(
        request: "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n", status: 413),
      Bad(
        request:
          "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        status: 400),
      Bad(
        request: "PUT / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
          + String(repeating: "x", count: 1001) + "\r\n0\r\n\r\n", status: 413),
      Bad(
        request: "PUT / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
          + "1\r\n5\r\n0\r\n\r\n", status: 501),
      Bad(request: "GET /.ws?v=5 HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 426),
      Bad(request: "GET /.lp?start=t HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 501),
      Bad(request: "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 404),
    ]

    @Test("What is not to be answered is refused with the status that fits", arguments: bad)
    func refused(_ bad: Bad) async throws {
      try await serving { configuration in
        configuration.limits.body = 1000
        configuration.limits.head = 4096
      } _: { serving in
        let reply = try await serving.ask(bad.request)
        #expect(reply?.status == bad.status)
        #expect(reply?.text.hasPrefix(#"{"error":""#) == true)
        #expect(
          try await serving.ask("GET /.health HTTP/1.1\r\nHost: localhost\r\n\r\n")?.status == 200)
      }
    }

    @Test("A client that says nothing, or half of something, is not waited for")
    func timeouts() async throws {
      try await serving {
        $0.timeouts.idle = .milliseconds(100)
      } _: { serving in
        let silent = Reader(try serving.socket())
        #expect(try await Reply.next(silent) == nil)
        #expect(try await serving.ask("GET / HT") == nil)
        // On a busy machine even the head may come too late.
        try await eventually("The rest of a body is waited for.") {
          let half = "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab"
          return try await serving.ask(half)?.status == 408
        }
      }
    }

    @Test("A client that is done with sending is still answered")
    func halfClosed() async throws {
      let responder = ClosureResponder { _ in
        try? await Task.sleep(for: .milliseconds(30))
        return HTTPResponse(status: 200, body: .bytes(Array("late".utf8)))
      }
      try await serving(responders: [responder]) { serving in
        let reader = Reader(try serving.socket())
        try await reader.socket.send(
          String(repeating: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 2))
        try await reader.socket.endSending()
        #expect(try await Reply.next(reader)?.text == "late")
        #expect(try await Reply.next(reader)?.text == "late")
        #expect(try await Reply.next(reader) == nil)
      }
    }

    @Test("What a responder puts into headers cannot become other headers")
    func headers() async throws {
      let responder = ClosureResponder { _ in
        HTTPResponse(
          status: 200,
          headers: [("a", "1\r\nb: 2"), ("c d", "3"), ("content-length", "9"), ("good", "é")],
          body: .bytes([0x31]))
      }
      try await serving(responders: [responder]) { serving in
        let reply = try await serving.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(reply?.text == "1")
        #expect(reply?.headers["a"] == nil)
        #expect(reply?.headers["b"] == nil)
        #expect(reply?.headers["c d"] == nil)
        #expect(reply?.headers["good"] == "é")
      }
    }
  }
#endif
