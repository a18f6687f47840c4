#if Network
  import ConiferWebSocket
  import ConiferWire
  import Testing

  /// One connection of a transport, and what happened on it.
  final class ClientLine: Sendable {
    let connection: any TransportConnection
    private let events: AsyncStream<TransportEvent>

    init(_ transport: WebSocketTransport, _ request: ConnectionRequest? = nil) {
      let (events, line) = AsyncStream<TransportEvent>.makeStream()
      self.events = events
      connection = transport.connect(request ?? ConnectionRequest(namespace: "ns")) {
        line.yield($0)
      }
    }

    private func next() async -> TransportEvent? {
      var iterator = events.makeAsyncIterator()
      return await iterator.next()
    }

    /// The next message; nil when the connection is closed.
    func message() async -> ServerMessage? {
      if case .message(let message)? = await next() { return message }
      return nil
    }

    /// The words with which the connection is closed, after messages that do not count.
    func words() async -> String {
      while let event = await next() {
        if case .closed(let words) = event { return words }
      }
      return "nothing happened"
    }

    func send(_ message: ClientMessage) { connection.send(message) }
  }
#endif
