#if Network
  import ConiferServer
  import ConiferServerHTTP
  import Synchronization
  import TestSupport
  import Testing

  /// Bodies that come as they come.
  struct StreamTests {
    /// Answers with a body that the test writes.
    private struct Streaming: HTTPResponder {
      let writer: BodyWriter
      var type = "text/event-stream"

      func respond(to request: HTTPRequest) async -> HTTPResponse? {
        HTTPResponse(status: 200, headers: [("content-type", type)], body: writer.body)
      }
    }

    private static let ask = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"

    @Test("Events come when they are written, and the connection ends with them")
    func events() async throws {
      let writer = BodyWriter()
      try await serving(responders: [Streaming(writer: writer)]) { serving in
        let reader = Reader(try serving.socket())
        try await reader.socket.send(Self.ask)
        let head = try await Reply.head(reader)
        #expect(head?.headers["connection"] == "close")
        #expect(head?.headers["transfer-encoding"] == nil)
        #expect(head?.headers["content-length"] == nil)
        for number in 1...3 {
          writer.write(Array("data: \(number)\n\n".utf8))
          #expect(try await reader.line() == "data: \(number)")
          #expect(try await reader.line() == "")
        }
        writer.finish()
        #expect(try await reader.line() == nil)
      }
    }

    @Test("The end of another stream is told from a broken connection, and the next answer follows")
    func chunked() async throws {
      let writer = BodyWriter()
      writer.write(Array("one ".utf8))
      writer.write(Array("two".utf8))
      writer.finish()
      try await serving(responders: [Streaming(writer: writer, type: "text/plain")]) { serving in
        let reader = Reader(try serving.socket())
        try await reader.socket.send(Self.ask + Self.ask)
        let reply = try await Reply.next(reader)
        #expect(reply?.headers["transfer-encoding"] == "chunked")
        #expect(reply?.text == "one two")
        #expect(try await Reply.next(reader)?.text == "")
      }
    }

    @Test("Whoever writes a stream learns that the client went", arguments: [true, false])
    func gone(byReset: Bool) async throws {
      let ended = Counter()
      let writer = BodyWriter { ended.next() }
      try await serving(responders: [Streaming(writer: writer)]) { serving in
        let reader = Reader(try serving.socket())
        try await reader.socket.send(Self.ask)
        #expect(try await Reply.head(reader)?.status == 200)
        if byReset { try await reader.socket.reset() } else { try await reader.socket.endSending() }
        try await eventually("The stream goes on.") { ended.count == 1 }
        #expect(!writer.write([1]))
        try await eventually("The connection stays.") { serving.http.connectionCount == 0 }
      }
    }

    @Test("A stream is made as fast as the client reads it, and not faster")
    func pull() async throws {
      let made = Counter()
      let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 1024 * 1024)
      let responder = ClosureResponder { _ in
        let stream = AsyncStream<[UInt8]> {
          made.next() <= 64 ? chunk : nil
        }
        return HTTPResponse(status: 200, body: .stream(stream))
      }
      try await serving(responders: [responder]) { serving in
        let reader = Reader(try serving.socket(receiveBuffer: 16_384))
        try await reader.socket.send("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        #expect(try await Reply.head(reader)?.status == 200)
        try await eventually("Nothing is made.") { made.count > 0 }
        // However long nobody reads, only what the system holds is made beside one part.
        try await Task.sleep(for: .milliseconds(200))
        #expect(made.count < 32)
        var count = 0
        while case let bytes = try await reader.socket.receive(), !bytes.isEmpty {
          count += bytes.count
        }
        #expect(count > 60 * chunk.count)
        #expect(made.count == 65)
      }
    }

    @Test("A stream for a client that reads nothing ends when too much waits")
    func overflow() async throws {
      let ended = Counter()
      let writer = BodyWriter(limit: 1024 * 1024) { ended.next() }
      try await serving(responders: [Streaming(writer: writer)]) { serving in
        let reader = Reader(try serving.socket(receiveBuffer: 4096))
        try await reader.socket.send(Self.ask)
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
        try await eventually("All was taken.") { !writer.write(chunk) }
        #expect(ended.count == 1)
      }
    }

    @Test("A server that stops ends streams, and lets whole answers be given")
    func stopped() async throws {
      let (begun, release) = (Counter(), Counter())
      let responder = ClosureResponder { request in
        begun.next()
        if request.path == "/stream" {
          return HTTPResponse(status: 200, body: BodyWriter().body)
        }
        while release.count == 0 { try? await Task.sleep(for: .milliseconds(5)) }
        return HTTPResponse(status: 200, body: .bytes(Array("done".utf8)))
      }
      try await serving(responders: [responder]) { configuration in
        // However busy the machine is, the answer is in time.
        configuration.timeouts.stop = .seconds(600)
      } _: { serving in
        let stream = Reader(try serving.socket())
        try await stream.socket.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await Reply.head(stream)?.status == 200)
        let whole = Reader(try serving.socket())
        try await whole.socket.send("GET /whole HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let idle = Reader(try serving.socket())
        try await eventually("Nobody asked.") { begun.count == 2 }
        async let stop: Void = serving.http.stop()
        #expect(try await idle.rest().isEmpty)
        #expect(try await stream.line() == "0")
        release.next()
        let reply = try await Reply.next(whole)
        #expect(reply?.text == "done")
        #expect(reply?.headers["connection"] == "close")
        await stop
      }
    }
  }
#endif
