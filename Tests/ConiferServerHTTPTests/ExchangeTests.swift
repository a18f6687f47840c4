#if Network
  import ConiferServer
  import ConiferTree
  import ConiferWire
  import Testing

  /// What was recorded of real clients, as they send it.
  struct ExchangeTests {
    @Test(
      "The hello tells the time, the version, the host that the client asked for, and a session")
    func hello() async throws {
      let server = Server(ServerConfiguration(clock: ServerClock(stoppedAt: 1_795_196_710_149)))
      try await serving(server) { serving in
        let client = try await serving.client()
        #expect(client.reply?.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(client.hello["t" as Key] == "c")
        #expect(client.hello["d/t" as Path] == "h")
        #expect(client.hello["d/d/ts" as Path] == 1_795_196_710_149)
        #expect(client.hello["d/d/v" as Path] == "5")
        #expect(client.hello["d/d/h" as Path] == "localhost:9101")
        #expect(server.sessions(in: "demo") == [client.session])
      }
    }

    @Test("The JavaScript client's requests are answered as it expects")
    func javaScript() async throws {
      try await serving { serving in
        let client = try await serving.client()
        try await client.send("s", #"{"c":{"sdk.node.12-18-0":1}}"#)
        #expect(try await client.text() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
        try await client.send(
          "p", #"{"p":"/a","d":{"x":1,"y":"two","z":{"0":true,"2":3.5}}}"#)
        #expect(try await client.text() == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#)
        try await client.send("g", #"{"p":"/a","q":{}}"#)
        try await client.expect(
          #"{"t":"d","d":{"r":3,"b":{"s":"ok","d":{"x":1,"y":"two","z":{"0":true,"2":3.5}}}}}"#)
        try await client.send("q", #"{"p":"/a","h":""}"#)
        try await client.expect(
          #"{"t":"d","d":{"a":"d","b":{"p":"a","d":{"x":1,"y":"two","z":{"0":true,"2":3.5}}}}}"#)
        #expect(try await client.text() == #"{"t":"d","d":{"r":4,"b":{"s":"ok","d":{}}}}"#)
        try await client.send("m", #"{"p":"/a","d":{"x":2,"n/m":5}}"#)
        try await client.expect(
          #"{"t":"d","d":{"a":"m","b":{"p":"a","d":{"x":2,"n/m":5}}}}"#)
        try await client.expect(#"{"t":"d","d":{"r":5,"b":{"s":"ok","d":""}}}"#)
        try await client.send("g", #"{"p":"/nothing","q":{}}"#)
        #expect(try await client.text() == #"{"t":"d","d":{"r":6,"b":{"s":"ok","d":null}}}"#)
      }
    }

    @Test("A put on a condition is done when the hash fits, and stale when not")
    func transaction() async throws {
      try await serving { serving in
        let client = try await serving.client()
        serving.server.set("a/x", 2, in: "demo")
        let hash = NodeHash.hash(2)
        _ = try await client.ask("q", #"{"p":"/a/x","h":""}"#)
        try await client.send("p", #"{"p":"/a/x","d":3,"h":"\#(hash)"}"#)
        try await client.expect(#"{"t":"d","d":{"a":"d","b":{"p":"a/x","d":3}}}"#)
        try await client.expect(#"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#)
        try await client.send("p", #"{"p":"/a/x","d":4,"h":"\#(hash)"}"#)
        try await client.expect(
          #"{"t":"d","d":{"r":3,"b":{"s":"datastale","d":"Transaction hash does not match"}}}"#)
      }
    }

    @Test("A filtered listen is told with its tag, and its window moves by merges")
    func filtered() async throws {
      try await serving { serving in
        let client = try await serving.client()
        try await client.send(
          "q", #"{"p":"/list","q":{"sp":2,"sin":true,"l":2,"vf":"r","i":"n"},"t":1,"h":""}"#)
        try await client.expect(#"{"t":"d","d":{"a":"d","b":{"p":"list","d":null,"t":1}}}"#)
        #expect(try await client.text() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}"#)
        serving.server.set("list", ["a": ["n": 2], "b": ["n": 3]], in: "demo")
        try await client.expect(
          #"{"t":"d","d":{"a":"d","b":{"p":"list","d":{"a":{"n":2},"b":{"n":3}},"t":1}}}"#)
        serving.server.set("list/c", ["n": 4], in: "demo")
        let merge = try await client.text()
        #expect(merge?.contains(#""a":null"#) == true)
        #expect(merge.map { try? Node(json: $0)["d/b/d/c/n" as Path] } == 4)
        #expect(merge.map { try? Node(json: $0)["d/b/t" as Path] } == 1)
      }
    }

    @Test(
      "The Java client's way: numbers from 0, paths without a slash, the query in another order")
    func java() async throws {
      try await serving { serving in
        let client = try await serving.client("/.ws?ns=demo&v=5")
        try await client.send(
          #"{"t":"d","d":{"a":"gauth","r":0,"b":{"cred":"owner"}}}"#)
        let answer = try await client.message()
        #expect(answer?["d/r" as Path] == 0)
        #expect(answer?["d/b/s" as Path] == "ok")
        try await client.send(#"{"t":"d","d":{"a":"p","r":1,"b":{"p":"j/k","d":7}}}"#)
        try await client.expect(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
        #expect(serving.server.data("j/k", in: "demo") == 7)
      }
    }

    @Test("What waits for the disconnect happens when the client closes, and a cancelled part not")
    func onDisconnect() async throws {
      try await serving { serving in
        let client = try await serving.client()
        #expect(try await client.ask("o", #"{"p":"/od","d":"gone"}"#)["s" as Key] == "ok")
        #expect(try await client.ask("om", #"{"p":"/od2","d":{"a":1}}"#)["s" as Key] == "ok")
        #expect(try await client.ask("oc", #"{"p":"/od2","d":null}"#)["s" as Key] == "ok")
        #expect(serving.server.data("od", in: "demo") == .empty)
        try await client.socket.send(WebSocketClient.frame([0x03, 0xE8], .close))
        #expect(try await client.frame() == .init(opcode: .close, bytes: [0x03, 0xE8]))
        #expect(serving.server.data(in: "demo") == ["od": "gone"])
        #expect(try await client.frame() == nil)
      }
    }

    @Test("A client that comes back names its last session, which ends, and is sent no equal data")
    func resume() async throws {
      try await serving { serving in
        serving.server.set("pub/c", 1, in: "demo")
        let old = try await serving.client()
        _ = try await old.ask("o", #"{"p":"/gone","d":true}"#)
        let new = try await serving.client("/.ws?v=5&ls=\(old.session)&ns=demo")
        #expect(serving.server.sessions(in: "demo") == [new.session])
        #expect(serving.server.data("gone", in: "demo") == true)
        // The old socket is closed as well.
        #expect(try await old.closeCode() == 1001)
        try await new.send("q", #"{"p":"/pub/c","h":"\#(NodeHash.hash(1))"}"#)
        try await new.expect(#"{"t":"d","d":{"r":1,"b":{"s":"ok"}}}"#)
      }
    }

    @Test("Databases are named by the query or by the host")
    func namespaces() async throws {
      try await serving { serving in
        let byHost = try await WebSocketClient(
          port: serving.port, "/.ws?v=5", host: "my-app.db.localhost")
        _ = try await byHost.ask("p", #"{"p":"/x","d":1}"#)
        let byNothing = try await WebSocketClient(
          port: serving.port, "/.ws?v=5", host: "127.0.0.1:9000")
        _ = try await byNothing.ask("p", #"{"p":"/x","d":2}"#)
        #expect(serving.server.data("x", in: "my-app") == 1)
        #expect(serving.server.data("x", in: "default") == 2)
        for bad in ["..%2Fetc", "a/b", "a.b", "%00"] {
          let refused = try await serving.client("/.ws?v=5&ns=\(bad)")
          #expect(refused.reply?.status == 400)
        }
      }
    }
  }
#endif
