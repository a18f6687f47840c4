#if Network
  import ConiferServer
  import ConiferTree
  import NIOCore
  import TestSupport
  import Testing

  @testable import ConiferServerHTTP

  /// Nothing is left of connections that have ended.
  @Suite(.serialized) struct LeakTests {
    /// Objects of connections, seen without being held; nothing but whether they live is asked.
    private final class Witness: @unchecked Sendable {
      weak var handler: WebSocketHandler?
      weak var line: SessionLine?

      init(_ handler: WebSocketHandler) {
        self.handler = handler
        line = handler.line
      }

      var isAlive: Bool { handler != nil || line != nil }
    }

    private static func witnesses(_ serving: Serving) async throws -> [Witness] {
      var witnesses: [Witness] = []
      for channel in serving.http.connections.open {
        let witness = try await channel.eventLoop.submit { () -> Witness? in
          let handlers = channel.pipeline.syncOperations
          return (try? handlers.handler(type: WebSocketHandler.self)).map { Witness($0) }
        }.get()
        if let witness { witnesses.append(witness) }
      }
      return witnesses
    }

    /// The ways in which a socket ends.
    enum End: CaseIterable {
      case closeFrame, reset, halfClosed, protocolError, evicted
    }

    @Test(
      "Of 10,000 WebSockets that came and went nothing is left, nor of their unfinished messages")
    func webSockets() async throws {
      let (rounds, each) = (100, 100)
      let piece = [UInt8](repeating: 0x61, count: 64 * 1024)
      let part = WebSocketClient.frame(Array("999999".utf8)) + WebSocketClient.frame(piece)
      try await serving { serving in
        var witnesses: [Witness] = []
        let before = ResidentMemory.bytes
        for round in 0..<rounds {
          let end = End.allCases[round % End.allCases.count]
          var clients: [WebSocketClient] = []
          for _ in 0..<each { clients.append(try await serving.client()) }
          for client in clients { try await client.socket.send(part) }
          // What is not whole counts, as it comes.
          try await eventually("Unfinished messages do not count.") {
            serving.http.connections.bytes >= each * piece.count
          }
          let now = try await Self.witnesses(serving)
          #expect(now.count == each && now.allSatisfy(\.isAlive))
          witnesses += now
          for client in clients {
            switch end {
            case .closeFrame:
              try await client.socket.send(WebSocketClient.frame([0x03, 0xE8], .close))
            case .reset: try await client.socket.reset()
            case .halfClosed: try await client.socket.endSending()
            case .protocolError: try await client.socket.send([0x83, 0x80, 0, 0, 0, 0])
            case .evicted: serving.server.disconnectAll(in: "demo", reason: "Enough.")
            }
          }
          clients = []
          try await eventually("Connections go on.") { serving.http.connectionCount == 0 }
          #expect(serving.http.connections.bytes == 0)
        }
        #expect(witnesses.count == rounds * each)
        try await eventually("Something of a WebSocket is left.") {
          !witnesses.contains(where: \.isAlive)
        }
        // Their pieces alone were 640 MiB; other tests may run beside this one.
        if let before, let after = ResidentMemory.bytes {
          #expect(after - before < 320 << 20, "\(before >> 20) MiB grew to \(after >> 20)")
        }
      }
    }

    @Test("Of event streams that came and went nothing is left, nor of what they did not read")
    func eventStreams() async throws {
      let server = Server()
      let responder = RESTResponder(server, RESTConfiguration(keepAlive: .seconds(3600)))
      let text = Node(.string(String(repeating: "x", count: 200_000)))
      try await serving(server, responders: [responder]) { serving in
        for round in 0..<10 {
          var readers: [Reader] = []
          for _ in 0..<20 {
            let reader = Reader(try serving.socket(receiveBuffer: 4096))
            let accept = "Accept: text/event-stream\r\n"
            try await reader.socket.send(
              "GET /.json?ns=demo HTTP/1.1\r\nHost: localhost\r\n\(accept)\r\n")
            #expect(try await Reply.head(reader)?.status == 200)
            readers.append(reader)
          }
          // More than the system takes for a reader that reads nothing.
          for _ in 0..<40 {
            server.set("text", .empty, in: "demo")
            server.set("text", text, in: "demo")
          }
          try await eventually("Nothing waits.") {
            responder.backlogs.bytes + serving.http.connections.bytes > 0
          }
          for reader in readers {
            if round % 2 == 0 { try await reader.socket.reset() }
          }
          readers = []
          try await eventually("Streams go on.") {
            serving.http.connectionCount == 0 && server.sessions(in: "demo").isEmpty
          }
        }
        try await eventually("Something of a stream is left.") {
          responder.backlogs.bytes == 0 && serving.http.connections.bytes == 0
        }
      }
    }
  }
#endif
