#if Network
  import ConiferServer
  import ConiferServerHTTP
  import ConiferWebSocket
  import ConiferWire
  import Testing

  /// Nothing is left of a client's connections that have ended.
  @Suite(.timeLimit(.minutes(10))) struct LeakTests {
    private struct Witness {
      weak var connection: (any TransportConnection)?
    }

    @Test(arguments: ["the client", "the server", "nobody"])
    func `Of connections that were closed nothing is left`(by who: String) async throws {
      let service = try await Service()
      var witnesses: [Witness] = []
      for _ in 0..<200 {
        let url = who == "nobody" ? "ws://127.0.0.1:1" : service.url
        let line = ClientLine(WebSocketTransport(url))
        if who != "nobody" { #expect(await line.message() != nil) }
        switch who {
        case "the client": line.connection.close()
        case "the server": service.server.disconnectAll(in: "ns", reason: "Enough.")
        default: break
        }
        _ = await line.words()
        witnesses.append(Witness(connection: line.connection))
      }
      #expect(witnesses.count == 200)
      await wait(for: "the end of \(witnesses.count { $0.connection != nil }) connections") {
        !witnesses.contains { $0.connection != nil }
      }
      #expect(!witnesses.contains { $0.connection != nil })
      await service.http.stop()
    }
  }
#endif
