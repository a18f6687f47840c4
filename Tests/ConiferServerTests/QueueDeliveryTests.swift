import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Synchronization
import Testing

/// Delivery by queues, as clients with threads of their own meet it.
@Suite struct QueueDeliveryTests {
  /// Waits for messages.
  private final class Listener: Sendable {
    let events: AsyncStream<TransportEvent>
    private let continuation: AsyncStream<TransportEvent>.Continuation

    init() { (events, continuation) = AsyncStream.makeStream() }

    var receive: @Sendable (TransportEvent) -> Void {
      { [continuation] event in
        continuation.yield(event)
        if case .closed = event { continuation.finish() }
      }
    }

    /// Everything up to the end of the connection.
    func all() async -> [String] {
      var told: [String] = []
      for await event in events {
        switch event {
        case .message(let message): told.append("\(message)")
        case .closed: told.append("closed")
        }
      }
      return told
    }
  }

  private let server = Server(ServerConfiguration(clock: ServerClock(stoppedAt: 1000)))

  @Test(arguments: [Duration.zero, .milliseconds(2)])
  func `Messages come in order, and never on the sender's stack`(delay: Duration) async {
    let transport = server.transport()
    transport.delay(delay)
    let listener = Listener()
    // Held while sending, and asked for while receiving: on one stack that would not end.
    let stack = Mutex(())
    let receive = listener.receive
    let connection = transport.connect(ConnectionRequest(namespace: "ns")) { event in
      stack.withLock { _ in }
      receive(event)
    }
    let last: UInt64 = 200
    transport.watch { delivered in
      // Closing at the last answer ends the stream.
      if case .toClient(.response(last, _)) = delivered { connection.close() }
    }
    for number in 1...last {
      stack.withLock { _ in
        connection.send(.request(number, .put("a", Node(.integer(Int64(number))), hash: nil)))
      }
    }
    let told = await listener.all()
    #expect(told.first == "hello from localhost at 1000")
    #expect(Array(told.dropFirst()) == (1...last).map { "\($0) ok" } + ["closed"])
    #expect(server.data("a", in: "ns") == Node(.integer(Int64(last))))
  }

  @Test func `What was sent before the end of a connection can be waited for`() async {
    let transport = server.transport()
    transport.delay(.milliseconds(2))
    await transport.waitUntilDelivered()
    let connection = transport.connect(ConnectionRequest(namespace: "ns")) { _ in }
    for number in 1...20 {
      connection.send(.request(UInt64(number), .put("a", Node(.integer(Int64(number))), hash: nil)))
    }
    connection.send(.request(21, .onDisconnectPut("gone", true)))
    connection.close()
    await transport.waitUntilDelivered()
    #expect(server.data(in: "ns") == ["a": 20, "gone": true])
    #expect(server.sessions(in: "ns").isEmpty)
  }

  @Test func `A client that answers within its receiver is heard`() async {
    let transport = server.transport()
    let listener = Listener()
    let box = Mutex<(any TransportConnection)?>(nil)
    let receive = listener.receive
    transport.hold()
    let connection = transport.connect(ConnectionRequest(namespace: "ns")) { event in
      receive(event)
      let connection = box.withLock { $0 }
      switch event {
      case .message(.hello): connection?.send(.request(1, .put("a", 1, hash: nil)))
      case .message(.response): connection?.close()
      default: break
      }
    }
    box.withLock { $0 = connection }
    transport.release()
    let told = await listener.all()
    #expect(told == ["hello from localhost at 1000", "1 ok", "closed"])
    #expect(server.data(in: "ns") == ["a": 1])
  }

  @Test func `A cut from another thread ends the connection once`() async {
    let transport = server.transport()
    let listener = Listener()
    let connection = transport.connect(
      ConnectionRequest(namespace: "ns"), receive: listener.receive)
    await withTaskGroup(of: Void.self) { group in
      for number in 1...50 as ClosedRange<UInt64> {
        group.addTask { connection.send(.request(number, .get(QueryTarget("a")))) }
      }
      group.addTask { transport.disconnect() }
      group.addTask { connection.close() }
    }
    let told = await listener.all()
    #expect(told.filter { $0 == "closed" }.count == 1)
    #expect(told.last == "closed")
  }

  @Test func `A token expires by the system's clock without a request`() async {
    let tokens = TokenTable()
    let clock = ServerClock()
    tokens.set("t", VerifiedToken(uid: "ada", expires: clock.now + 200))
    let server = Server(ServerConfiguration(authenticator: tokens, clock: clock))
    let transport = server.transport()
    let listener = Listener()
    let connection = transport.connect(
      ConnectionRequest(namespace: "ns"), receive: listener.receive)
    transport.watch { delivered in
      if case .toClient(.push(.authRevoked)) = delivered { connection.close() }
    }
    connection.send(.request(1, .authenticate(Credential("t"))))
    let told = await listener.all()
    #expect(told.contains { $0.hasPrefix("auth revoked") })
    #expect(told.last == "closed")
  }
}
