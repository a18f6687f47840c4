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

    @Test("An answer that there is no room for is refused, and its client may ask again")
    func answers() async throws {
      let responder = ClosureResponder { _ in
        HTTPResponse(status: 200, body: .bytes([UInt8](repeating: 0x61, count: 8 << 20)))
      }
      try await serving(responders: [responder]) {
        $0.limits.total = 12 << 20
      } _: { serving in
        let request = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"
        let slow = try serving.socket(receiveBuffer: 4096)
        try await slow.send(request)
        try await eventually("Nothing is held.") { serving.http.connections.bytes == 8 << 20 }
        #expect(try await serving.ask(request)?.status == 503)
        #expect(serving.http.connections.bytes == 8 << 20)
        try await slow.reset()
        try await eventually("Something counts on.") { serving.http.connections.bytes == 0 }
        #expect(try await serving.ask(request)?.status == 200)
      }
    }

    @Test("A part of a stream that there is no room for ends its connection")
    func parts() async throws {
      let responder = ClosureResponder { _ in
        let (parts, writer) = AsyncStream.makeStream(of: [UInt8].self)
        writer.yield([UInt8](repeating: 0x61, count: 8 << 20))
        writer.finish()
        return HTTPResponse(status: 200, body: .stream(parts))
      }
      try await serving(responders: [responder]) {
        $0.limits.total = 12 << 20
      } _: { serving in
        let request = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"
        let slow = try serving.socket(receiveBuffer: 4096)
        try await slow.send(request)
        try await eventually("Nothing is held.") { serving.http.connections.bytes == 8 << 20 }
        let reader = Reader(try serving.socket())
        try await reader.socket.send(request)
        #expect(try await Reply.head(reader)?.status == 200)
        try await eventually("The connection is open.") { serving.http.connectionCount == 1 }
        try await slow.reset()
        try await eventually("Something counts on.") { serving.http.connections.bytes == 0 }
        #expect(try await serving.ask(request)?.body.count == 8 << 20)
      }
    }

    @Test("Of many bodies that are too much together some are taken")
    func manyBodies() async throws {
      let taken = Counter()
      let responder = ClosureResponder { _ in
        taken.next()
        return HTTPResponse(status: 200)
      }
      let body = [UInt8](repeating: 0x61, count: 2 << 20)
      let request =
        Array("PUT /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
        + body
      try await serving(responders: [responder]) {
        $0.limits.total = 8 << 20
      } _: { serving in
        for round in 1...10 {
          let before = taken.count
          await withTaskGroup { group in
            for _ in 0..<8 {
              group.addTask {
                guard let reader = try? Reader(serving.socket()) else { return }
                try? await reader.socket.send(request)
                _ = try? await Reply.next(reader)
              }
            }
          }
          #expect(taken.count > before, "round \(round)")
        }
        try await eventually("Something counts on.") { serving.http.connections.bytes == 0 }
      }
    }

    @Test("A message that there is no room for is not read, and its session ends")
    func messages() async throws {
      let entered = Counter()
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      let responder = ClosureResponder { _ in
        entered.next()
        for await _ in gate { break }
        return HTTPResponse(status: 200)
      }
      try await serving(responders: [responder]) {
        $0.limits.total = 2_000_000
      } _: { serving in
        let client = try await serving.client()
        let other = try await serving.client()
        let body = String(repeating: "x", count: 400_000)
        let reader = Reader(try serving.socket())
        try await reader.socket.send(
          "PUT /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400000\r\n\r\n\(body)")
        try await eventually("It is not asked.") { entered.count == 1 }
        let ones = "[" + Array(repeating: "1", count: 20_000).joined(separator: ",") + "]"
        try await client.send("p", #"{"p":"/a","d":\#(ones)}"#)
        try await eventually("The session goes on.") {
          serving.server.sessions(in: "demo") == [other.session]
        }
        #expect(serving.server.data("a", in: "demo") == .empty)
        opener.finish()
        #expect(try await Reply.next(reader)?.status == 200)
        #expect(try await other.ask("p", #"{"p":"/a","d":\#(ones)}"#)["s" as Key] == "ok")
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
