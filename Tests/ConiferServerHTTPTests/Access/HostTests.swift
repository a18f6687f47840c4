#if Network
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import Testing

  /// Under which names a server answers.
  struct HostTests {
    private static func responders(_ server: Server) -> [any HTTPResponder] {
      [
        HealthResponder(), PageResponder(server, bearers: .administrators),
        RESTResponder(server, RESTConfiguration(bearers: .administrators)),
      ]
    }

    private static func serving(
      _ configure: (inout HTTPServerConfiguration) -> Void = { _ in },
      _ body: (Serving) async throws -> Void
    ) async throws {
      let server = Server()
      server.set("secret", "found", in: "default")
      try await ConiferServerHTTPTests.serving(
        server, responders: responders(server), configure, body)
    }

    struct Asked: CustomTestStringConvertible, Sendable {
      let headers: String
      var version = "1.1"
      var target = ""
      let status: Int

      var testDescription: String {
        "\(target) \(version) \(headers.replacing("\r\n", with: " ")) is \(status)"
      }
    }

    static let cases: [Asked] =
      [
        "localhost", "localhost:9000", "LocalHost:1", "localhost.", "localhost.:80", "localhost:",
        "demo.localhost", "a.b.localhost:9000", "127.0.0.1", "127.0.0.1:9000", "127.255.3.4:1",
        "[::1]", "[::1]:9000", "[0:0:0:0:0:0:0:1]:9000",
      ].map { Asked(headers: "Host: \($0)\r\n", status: 200) }
      + [
        "evil.example", "evil.example:9000", "localhost.evil.example", "127.0.0.1.evil.example",
        "evillocalhost", "localhost.localdomain", "h", "", "localhost..", ".localhost",
        "a..localhost",
        "0.0.0.0", "0.0.0.0:9000", "10.0.0.2:9000", "192.168.1.7", "127.1", "127.0.0.01",
        "127.0.0.1.", "2130706433", "0x7f000001", "[::]", "[::]:9000", "[::ffff:127.0.0.1]",
        "[::1", "[::1]evil", "[::1%25lo]", "[fe80::1]:80", "::1", "localhost:x", "localhost:1:2",
        "user@localhost", "localhost, evil.example", "localhost/evil", "localhost:65536",
      ].map { Asked(headers: "Host: \($0)\r\n", status: 403) } + [
        // What no client of HTTP/1.1 may send.
        Asked(headers: "", status: 400),
        Asked(headers: "Host: localhost\r\nHost: localhost\r\n", status: 400),
        Asked(headers: "Host: localhost\r\nhost: evil.example\r\n", status: 400),
        Asked(headers: "Host: localhost\r\nHost: evil.example\r\n", version: "1.0", status: 400),
        Asked(headers: "", version: "1.0", status: 403),
        Asked(headers: "Host: localhost\r\n", version: "1.0", status: 200),
        Asked(headers: "Host: evil.example\r\n", version: "1.0", status: 403),
        // A target that names a host of its own.
        Asked(headers: "Host: localhost\r\n", target: "http://localhost:9000", status: 200),
        Asked(headers: "Host: localhost\r\n", target: "http://[::1]:9000", status: 200),
        Asked(headers: "Host: localhost\r\n", target: "http://evil.example", status: 403),
        Asked(headers: "Host: evil.example\r\n", target: "http://localhost", status: 403),
        Asked(headers: "Host: localhost\r\n", target: "http://evil@localhost", status: 403),
        Asked(headers: "Host: localhost\r\n", target: "http://localhost@evil.example", status: 403),
      ]

    @Test("A server at the loopback answers under names of the loopback alone")
    func hosts() async throws {
      try await Self.serving { serving in
        for asked in Self.cases {
          for path in ["/secret.json", "/.health", "/"] {
            let reply = try await serving.ask(
              "GET \(asked.target)\(path) HTTP/\(asked.version)\r\n\(asked.headers)"
                + "Authorization: Bearer x\r\nConnection: close\r\n\r\n")
            #expect(reply?.status == asked.status, "\(path): \(asked)")
            if asked.status != 200 {
              #expect(reply?.text.contains("found") == false, "\(path): \(asked)")
            }
          }
        }
      }
    }

    @Test("A name that suddenly leads here gets no data, no stream, no page and no WebSocket")
    func rebinding() async throws {
      try await Self.serving { serving in
        let evil = "HTTP/1.1\r\nHost: evil.example:9000\r\nAuthorization: Bearer x\r\n"
        for request in [
          "GET /.json \(evil)\r\n", "GET /secret.json?callback=f&access_token=x \(evil)\r\n",
          "GET /.json \(evil)Accept: text/event-stream\r\n\r\n", "GET / \(evil)\r\n",
          "GET /.conifer/export.json \(evil)\r\n", "GET /.settings/rules.json \(evil)\r\n",
          "OPTIONS /.json \(evil)\r\n", "PUT /secret.json \(evil)Content-Length: 1\r\n\r\n1",
          // Nothing of the body is waited for.
          "PUT /secret.json \(evil)Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        ] {
          let reply = try await serving.ask(request)
          #expect(reply?.status == 403, "\(request)")
          #expect(reply?.text.contains("found") == false, "\(request)")
          #expect(reply?.headers["access-control-allow-origin"] == nil, "\(request)")
        }
        let socket = try await WebSocketClient(port: serving.port, host: "evil.example:9000")
        #expect(socket.reply?.status == 403)
        #expect(serving.server.data("secret", in: "default") == "found")
      }
    }

    @Test("A name is named by the host that is listened at, or by an origin")
    func named() async throws {
      try await Self.serving {
        $0.origins = ["http://Box.lan:8080", "https://[fd00::7]", "null"]
      } _: { serving in
        for (host, status) in [
          ("box.lan", 200), ("BOX.lan.:9000", 200), ("[fd00::7]:9000", 200), ("[fd00:0::7]", 200),
          ("localhost:9000", 200), ("evil.example", 403), ("x.box.lan", 403), ("null", 403),
        ] {
          let reply = try await serving.ask(
            "GET /secret.json HTTP/1.1\r\nHost: \(host)\r\n\r\n")
          #expect(reply?.status == status, "\(host)")
        }
      }
      // Whoever lets every website ask keeps none away.
      try await Self.serving {
        $0.origins = ["*"]
      } _: { serving in
        let reply = try await serving.ask(
          "GET /secret.json HTTP/1.1\r\nHost: box.lan\r\n\r\n")
        #expect(reply?.status == 200)
      }
    }

    @Test("What comes by the loopback to a server that listens everywhere is checked as well")
    func everywhere() async throws {
      try await Self.serving {
        $0.host = "0.0.0.0"
      } _: { serving in
        for (host, status) in [
          ("127.0.0.1", 200), ("evil.example", 403), ("10.0.0.2", 403),
          // Every website may name it, and it leads here.
          ("0.0.0.0", 403), ("0.0.0.0:9000", 403), ("[::]", 403), ("[0:0:0:0:0:0:0:0]:80", 403),
          ("[::0.0.0.0]", 403), ("[::ffff:0.0.0.0]", 403), ("[::ffff:0:0]", 403), ("0", 403),
        ] {
          let reply = try await serving.ask(
            "GET /secret.json HTTP/1.1\r\nHost: \(host)\r\n\r\n")
          #expect(reply?.status == status, "\(host)")
        }
      }
    }
  }
#endif
