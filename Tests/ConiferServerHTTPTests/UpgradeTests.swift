#if Network
  import TestSupport
  import Testing

  @testable import ConiferServerHTTP

  /// Requests for another protocol, whatever comes with them and behind them.
  struct UpgradeTests {
    struct Asked: CustomTestStringConvertible, Sendable {
      /// The header `Connection`, in whole lines.
      let connection: String
      let body: String
      let behind: String

      var isRequest: Bool { connection.contains("pgrade") }

      var head: String {
        "GET /.ws?v=5&ns=demo HTTP/1.1\r\nHost: localhost\r\n\(connection)Upgrade: websocket\r\n"
          + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
      }

      var testDescription: String { "\(connection) \(body) \(behind)".debugDescription }
    }

    static let cases: [Asked] = [
      "", "Connection: keep-alive\r\n", "Connection: close\r\n", "Connection: Upgrade\r\n",
      "Connection: Upgrade\t\r\n", "Connection:\tUpgrade\r\n", "Connection: Upgrade \r\n",
      "Connection: keep-alive,\tUpgrade\r\n", "Connection: keep-alive, Upgrade\r\n",
      "Connection: keep-alive\r\nConnection: Upgrade\r\n", "Connection: Upgrade, close\r\n",
    ].flatMap { connection in
      [
        "\r\n", "Content-Length: 1\r\n\r\nx",
        "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      ]
      .flatMap { body in
        [
          "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1",
          "none of HTTP\r\n\r\n", "\u{1}\u{2}",
        ].map { Asked(connection: connection, body: body, behind: $0) }
      }
    }

    @Test(
      "A request for a WebSocket with another one behind it ends nobody, however it asks",
      arguments: [[0, 0], [1, 0], [0, 1], [1, 1]])
    func behind(_ cuts: [Int]) async throws {
      try await serving { serving in
        for asked in Self.cases {
          let reader = Reader(try serving.socket())
          // In one piece, or cut before the body or behind it.
          var pieces = [asked.head]
          for (piece, cut) in zip([asked.body, asked.behind], cuts) {
            if cut == 1 { pieces.append(piece) } else { pieces[pieces.count - 1] += piece }
          }
          for piece in pieces { try? await reader.socket.send(piece) }
          let reply = try await Reply.next(reader)
          if !asked.isRequest {
            #expect(reply?.status == 426, "\(asked)")
            #expect(reply?.headers["connection"] == "close", "\(asked)")
            // What is behind it is not answered.
            #expect(try await reader.rest().isEmpty, "\(asked)")
          }
          let health = try await serving.ask("GET /.health HTTP/1.1\r\nHost: localhost\r\n\r\n")
          #expect(health?.status == 200, "\(asked)")
        }
      }
    }

    @Test("What comes behind a request for a protocol that there is none of is not kept")
    func unknownProtocol() async throws {
      try await serving { configuration in
        // Nothing but the bytes may end it.
        configuration.timeouts.idle = .seconds(3600)
        configuration.timeouts.request = .seconds(3600)
        configuration.timeouts.close = .seconds(3600)
      } _: { serving in
        for path in ["/.health", "/.ws?v=4"] {
          let reader = Reader(try serving.socket())
          try await reader.socket.send(
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n"
          )
          let reply = try await Reply.next(reader)
          #expect(reply?.status == (path == "/.health" ? 200 : 426))
          #expect(reply?.headers["connection"] == "close")
          let part = [UInt8](repeating: 0x61, count: 64 * 1024)
          for _ in 0..<16 { do { try await reader.socket.send(part) } catch { break } }
          try await eventually("The connection goes on.") { serving.http.connectionCount == 0 }
        }
      }
    }
  }
#endif
