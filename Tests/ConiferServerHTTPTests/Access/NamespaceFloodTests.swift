#if Network
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import Synchronization
  import TestSupport
  import Testing

  /// Databases under names that anybody makes up.
  struct NamespaceFloodTests {
    private static func get(_ name: String) -> String {
      "GET /a.json?ns=\(name) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    }

    @Test("Made-up names take no room, however they are asked for", arguments: [false, true])
    func flood(_ isPrepared: Bool) async throws {
      let server = Server(
        ServerConfiguration(rules: ClosureRules(write: { path, _, _ in path.first == "open" })))
      let prepared = Mutex<[String: Int]>([:])
      try await serving(server, responders: [RESTResponder(server)]) {
        $0.limits.namespaces = 4
        if isPrepared {
          $0.prepare = { name in
            prepared.withLock { $0[name, default: 0] += 1 }
            server.setRules(ClosureRules(write: { path, _, _ in path.first == "open" }), in: name)
          }
        }
      } _: { serving in
        // What has something to keep: data, rules of its own, a session.
        server.set("x", 1, in: "data")
        #expect(try await serving.ask(Self.get("data"))?.status == 200)
        let ruled = try await serving.client("/.ws?v=5&ns=ruled")
        server.setRules(ClosureRules(read: { _, _ in false }), in: "ruled")
        try await ruled.socket.reset()
        try await eventually("The session goes on.") { server.sessions(in: "ruled").isEmpty }
        let client = try await serving.client("/.ws?v=5&ns=used")
        for number in 0..<30 {
          #expect(try await serving.ask(Self.get("made-\(number)"))?.text == "null")
          let denied = try await serving.ask(
            "PUT /a.json?ns=up-\(number) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1")
          #expect(denied?.status == 401)
          let socket = try await serving.client("/.ws?v=5&ns=ws-\(number)")
          #expect(socket.reply?.status == 101)
          try await socket.socket.reset()
          try await eventually("The database of a session that ended takes room.") {
            !serving.http.servedNamespaces.contains("ws-\(number)")
          }
        }
        #expect(Set(serving.http.servedNamespaces) == ["data", "ruled", "used"])
        #expect(server.data("x", in: "data") == 1)
        #expect(try await serving.ask(Self.get("ruled"))?.status == 401)
        #expect(server.sessions(in: "used") == [client.session])
        if isPrepared {
          #expect(prepared.withLock { $0["used"] } == 1)
          // One that was forgotten is made ready anew.
          #expect(try await serving.ask(Self.get("made-1"))?.status == 200)
          #expect(prepared.withLock { $0["made-1"] } == 2)
        }
      }
    }

    @Test("Too many that are in use are refused, until one is not")
    func full() async throws {
      let server = Server()
      try await serving(server, responders: [RESTResponder(server)]) {
        $0.limits.namespaces = 2
      } _: { serving in
        let first = try await serving.client("/.ws?v=5&ns=a")
        _ = try await first.ask("p", #"{"p":"/x","d":1}"#)
        let second = try await serving.client("/.ws?v=5&ns=b")
        #expect(try await serving.ask(Self.get("c"))?.status == 503)
        try await second.socket.reset()
        try await eventually("There is no room.") {
          try await serving.ask(Self.get("c"))?.status == 200
        }
        // Data keeps its place without a session, and gives it up when it goes.
        try await first.socket.reset()
        try await eventually("The session goes on.") { server.sessions(in: "a").isEmpty }
        let third = try await serving.client("/.ws?v=5&ns=b")
        #expect(third.reply?.status == 101)
        #expect(try await serving.ask(Self.get("c"))?.status == 503)
        server.set(.root, .empty, in: "a")
        try await eventually("An empty database keeps its place.") {
          try await serving.ask(Self.get("c"))?.status == 200
        }
      }
    }
  }
#endif
