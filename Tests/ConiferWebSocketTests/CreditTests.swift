#if Network
  import ConiferTree
  import ConiferWebSocket
  import ConiferWire
  import NIOCore
  import Synchronization
  import Testing

  /// What a connection does while its client has enough to do, and how it finds out whether the server is
  /// there.
  @Suite(.timeLimit(.minutes(10))) struct CreditTests {
    /// What came, and whether any of it came without credit.
    private final class Receiver: Sendable {
      private let state = Mutex((granted: 0, came: 0, uncalled: 0, last: Int64(0), disordered: 0))
      let events: AsyncStream<Int>
      private let line: AsyncStream<Int>.Continuation

      init(credit: Int) {
        (events, line) = AsyncStream.makeStream()
        state.withLock { $0.granted = credit }
      }

      var uncalled: Int { state.withLock { $0.uncalled } }
      var disordered: Int { state.withLock { $0.disordered } }

      func grant(_ count: Int, to connection: any TransportConnection) {
        state.withLock { $0.granted += count }
        connection.grantCredit(count)
      }

      func receive(_ event: TransportEvent) {
        guard case .message(let message) = event else { return }
        let count = state.withLock { state in
          state.came += 1
          if state.came > state.granted { state.uncalled += 1 }
          if case .push(.overwrite(_, let node, _)) = message,
            case .integer(let number)? = node[Path("n")].leaf
          {
            if number != state.last + 1 { state.disordered += 1 }
            state.last = number
          }
          return state.came
        }
        line.yield(count)
      }

      /// Returns when so many have come.
      func wait(for count: Int) async {
        for await come in events where come >= count { return }
      }
    }

    @Test func `Without credit nothing is read, and the server waits`() async throws {
      let server = try await ScriptedServer()
      let receiver = Receiver(credit: 8)
      let connection = WebSocketTransport(server.url).connect(
        ConnectionRequest(namespace: "ns", credit: 8), receive: receiver.receive)
      let socket = try #require(await server.next())
      // More than the system holds for a socket.
      let (count, text) = (3_000, String(repeating: "x", count: 10_000))
      for number in 1...count {
        socket.send(#"{"t":"d","d":{"a":"d","b":{"p":"a","d":{"n":\#(number),"x":"\#(text)"}}}}"#)
      }
      await receiver.wait(for: 8)
      receiver.grant(5, to: connection)
      await receiver.wait(for: 13)
      let unsent = try await socket.channel.getOption(.bufferedWritableBytes).get()
      #expect(unsent > 0)
      for given in stride(from: 13, to: count, by: 61) {
        receiver.grant(61, to: connection)
        await receiver.wait(for: min(given + 61, count))
      }
      #expect(receiver.uncalled == 0 && receiver.disordered == 0)
      connection.close()
    }

    @Test func `A part of a message is a sign of life, which takes no credit`() async throws {
      let server = try await ScriptedServer()
      let client = ClientLine(
        WebSocketTransport(server.url), ConnectionRequest(namespace: "ns", credit: 1))
      let socket = try #require(await server.next())
      socket.send(.pong)
      #expect(await client.message() == .pong)
      for byte: [UInt8] in [[0x81], [20]] {
        #expect(client.connection.probe())
        #expect(await socket.next() == "ping")
        try await socket.send(raw: byte)
        #expect(await client.message() == .pong)
      }
      client.connection.close()
    }
  }
#endif
