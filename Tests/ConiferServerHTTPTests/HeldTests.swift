#if Network
  import ConiferKeyValue
  import ConiferServer
  import ConiferStorage
  import ConiferTree
  import Dispatch
  import TestSupport
  import Testing

  @testable import ConiferServerHTTP

  /// What clients leave behind counts until it is gone, and no longer.
  struct HeldTests {
    @Test(
      "A body counts until it is handled, also when its client has gone, and no answer counts then")
    func bodies() async throws {
      let entered = Counter()
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      let responder = ClosureResponder { _ in
        entered.next()
        // Nobody who is told to stop has to.
        await Task.detached { for await _ in gate { break } }.value
        return HTTPResponse(status: 200, body: .bytes([UInt8](repeating: 0x61, count: 1 << 20)))
      }
      let size = 1 << 20
      let request =
        Array(
          "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\n\r\n".utf8)
        + [UInt8](repeating: 0x61, count: size)
      try await serving(responders: [responder]) {
        $0.limits.total = 10 << 20
      } _: { serving in
        for round in 1...3 {
          let socket = try serving.socket()
          try await socket.send(request)
          try await eventually("It is not asked.") { entered.count == round }
          try await socket.reset()
          try await eventually("The connection is open.") { serving.http.connectionCount == 0 }
          #expect(serving.http.connections.bytes >= round * size)
        }
        // There is no room for one more while they are handled.
        let refused = Reader(try serving.socket())
        try? await refused.socket.send(request)
        #expect(try await Reply.next(refused)?.status == 503)
        #expect(entered.count == 3)
        opener.finish()
        try await eventually("Something counts on.") { serving.http.connections.bytes == 0 }
        #expect(try await serving.ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")?.status == 200)
      }
    }

    @Test("A stream that goes on when its client has gone counts nothing")
    func streams() async throws {
      let (parts, writer) = AsyncStream.makeStream(of: [UInt8].self)
      let ended = Counter()
      writer.onTermination = { _ in ended.next() }
      let responder = ClosureResponder { _ in HTTPResponse(status: 200, body: .stream(parts)) }
      try await serving(responders: [responder]) { serving in
        let reader = Reader(try serving.socket())
        try await reader.socket.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await Reply.head(reader)?.status == 200)
        try await reader.socket.reset()
        try await eventually("The stream goes on.") {
          writer.yield([UInt8](repeating: 0x61, count: 1 << 20))
          return ended.count == 1 && serving.http.connectionCount == 0
        }
        try await eventually("Something counts on.") { serving.http.connections.bytes == 0 }
      }
    }

    @Test(
      "Requests that wait for a slow store count until it is done, also when their session has ended"
    )
    func slowStore() async throws {
      let gate = DispatchSemaphore(value: 0)
      let (armed, entered) = (Counter(), Counter())
      var options = StorageOptions(durability: .relaxed)
      options.role = .authority
      let store = GuardedStore(MemoryStore()) { _ in
        if armed.count > 0, entered.next() == 1 { gate.wait() }
      }
      let server = Server()
      try await serving(server) { configuration in
        configuration.prepare = { [options] name in
          let backend = try PackedBackend(store, name: "guarded", options: options)
          try await server.open(name, in: backend)
        }
      } _: { serving in
        defer { gate.signal() }
        let client = try await serving.client()
        armed.next()
        try await client.send("p", #"{"p":"/first","d":1}"#)
        try await eventually("Nothing is stored.") { entered.count == 1 }
        let text = String(repeating: "x", count: 100_000)
        for _ in 0..<10 { try await client.send("p", "{\"p\":\"/a\",\"d\":\"\(text)\"}") }
        try await eventually("They do not wait.") { serving.http.connections.bytes > 1_000_000 }
        try await client.socket.reset()
        try await eventually("The connection is open.") { serving.http.connectionCount == 0 }
        #expect(serving.http.connections.bytes > 1_000_000)
        gate.signal()
        try await eventually("Something counts on.") { serving.http.connections.bytes == 0 }
      }
    }
  }
#endif
