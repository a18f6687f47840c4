#if Network
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferServer
  import ConiferServerHTTP
  import ConiferStorage
  import ConiferTree
  import TestSupport
  import Testing

  /// A server whose data stays.
  struct DurableTests {
    private static func withServer(
      _ path: String, _ body: (Serving) async throws -> Void
    ) async throws {
      let backend = try StorageConfiguration.lmdb(
        at: path, options: StorageOptions(role: .authority)
      ).open()
      let server = Server()
      do {
        try await serving(server) { configuration in
          configuration.prepare = { name in try await server.open(name, in: backend) }
        } _: { serving in
          try await body(serving)
        }
      } catch {
        try? await backend.close()
        throw error
      }
      await server.waitUntilIdle("demo")
      try await backend.close()
    }

    @Test("What was answered is there after a restart, and so is what happened at the disconnects")
    func restart() async throws {
      let scratch = try Scratch()
      var session = ""
      try await Self.withServer(scratch.store) { serving in
        let client = try await serving.client()
        session = client.session
        _ = try await client.ask("o", #"{"p":"/online","d":false}"#)
        _ = try await client.ask("p", #"{"p":"/online","d":true}"#)
        for number in 1...20 {
          #expect(
            try await client.ask("p", #"{"p":"/list/\#(number)","d":\#(number)}"#)["s" as Key]
              == "ok")
        }
        #expect(serving.server.data("online", in: "demo") == true)
      }
      try await Self.withServer(scratch.store) { serving in
        // A session of a server that is no more is no hindrance.
        let client = try await serving.client("/.ws?v=5&ns=demo&ls=\(session)")
        let data = try await client.ask("g", #"{"p":"/","q":{}}"#)["d" as Key]
        #expect(data["online" as Key] == false)
        #expect(data["list" as Key].childCount == 20)
        let other = try await serving.client("/.ws?v=5&ns=other")
        #expect(try await other.ask("g", #"{"p":"/","q":{}}"#)["d" as Key] == .empty)
      }
    }

    @Test("Many writes that wait for the disk are answered in their order")
    func order() async throws {
      let scratch = try Scratch()
      try await Self.withServer(scratch.store) { serving in
        let client = try await serving.client()
        var bytes: [UInt8] = []
        for number in 1...100 {
          bytes += WebSocketClient.frame(
            Array(#"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/n","d":\#(number)}}}"#.utf8))
        }
        try await client.socket.send(bytes)
        for number in 1...100 {
          #expect(try await client.message()?["d/r" as Path] == Node(.integer(Int64(number))))
        }
        #expect(serving.server.data("n", in: "demo") == 100)
      }
    }
  }
#endif
