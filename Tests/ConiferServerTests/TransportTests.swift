import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import TestSupport
import Testing

/// The transport within the process and its scripted faults, delivered by hand.
@Suite struct TransportTests {
  private let server = Server(ServerConfiguration(clock: ServerClock(stoppedAt: 1000)))
  private let pump = DeliveryPump(seed: 1)

  /// A client over a transport that keeps what it was handed.
  private final class Client {
    let transport: InProcessTransport
    let inbox = Inbox()
    let connection: any TransportConnection

    init(_ transport: InProcessTransport, lastSession: String? = nil) {
      self.transport = transport
      connection = transport.connect(
        ConnectionRequest(namespace: "ns", lastSession: lastSession), receive: inbox.receive)
    }

    func send(_ number: UInt64, _ request: Request) {
      connection.send(.request(number, request))
    }

    /// What came, in words.
    func told() -> [String] {
      inbox.take().map { event in
        switch event {
        case .message(let message): "\(message)"
        case .closed(let reason): "closed: \(reason)"
        }
      }
    }
  }

  private func client(lastSession: String? = nil) -> Client {
    Client(server.transport(.manual(pump)), lastSession: lastSession)
  }

  private var data: Node { server.data(in: "ns") }

  private let hello = "hello from localhost at 1000"
  private let lost = "closed: The connection was lost."

  @Test func `Nothing is delivered before it is pumped, then hello and all in order`() {
    let client = client()
    client.send(1, .put("a", 1, hash: nil))
    client.send(2, .get(QueryTarget("a")))
    #expect(client.told().isEmpty)
    #expect(data.isEmpty)
    #expect(!client.transport.isIdle)
    #expect(pump.run() == 6)
    #expect(client.told() == [hello, "1 ok", "2 ok, 8 bytes"])
    #expect(client.transport.isIdle)
    #expect(!client.transport.step())
  }

  @Test func `A closed connection has its messages delivered and says so once`() {
    let client = client()
    client.send(1, .onDisconnectPut("gone", true))
    client.send(2, .put("a", 1, hash: nil))
    client.connection.close()
    client.connection.close()
    client.send(3, .put("a", 2, hash: nil))
    pump.run()
    #expect(client.told() == ["closed: The client closed the connection."])
    #expect(data == ["a": 1, "gone": true])
    #expect(server.sessions(in: "ns").isEmpty)
  }

  @Test func `A cut loses what is under way, either way`() {
    let client = client()
    pump.run()
    client.send(1, .put("a", 1, hash: nil))
    client.transport.disconnect()
    client.send(2, .put("b", 1, hash: nil))
    pump.run()
    #expect(client.told() == [hello, lost])
    #expect(data.isEmpty)
    #expect(server.sessions(in: "ns").isEmpty)
  }

  @Test func `A cut that the server does not notice leaves the session until it is named`() {
    let client = client()
    client.send(1, .onDisconnectPut("online", false))
    pump.run()
    client.transport.disconnect(serverNotices: false)
    pump.run()
    let name = server.sessions(in: "ns").first
    #expect(name != nil)
    #expect(data.isEmpty)
    let again = self.client(lastSession: name)
    pump.run()
    #expect(data == ["online": false])
    #expect(server.sessions(in: "ns").count == 1)
    again.transport.disconnect(serverNotices: false)
    pump.run()
    again.transport.endLost()
    #expect(server.sessions(in: "ns").isEmpty)
  }

  @Test func `The next writes are refused without being done`() {
    let client = client()
    client.transport.refuse(next: 2, with: .unavailable, reason: "Not now")
    client.send(1, .put("a", 1, hash: nil))
    client.send(2, .get(QueryTarget("a")))
    client.send(3, .merge("a", []))
    client.send(4, .put("a", 4, hash: nil))
    pump.run()
    #expect(
      client.told() == [hello, "1 unavailable: Not now", "2 ok", "3 unavailable: Not now", "4 ok"])
    #expect(data == ["a": 4])
  }

  @Test func `A write whose answer is lost is done, and the client hears nothing of it`() {
    let client = client()
    client.send(1, .listen(QueryTarget("a"), tag: nil, hash: "", compound: nil))
    pump.run()
    #expect(client.told() == [hello, "overwrite /a, 4 bytes", "1 ok"])
    client.transport.loseAnswer()
    client.send(2, .put("a", 1, hash: nil))
    client.send(3, .put("a", 2, hash: nil))
    pump.run()
    #expect(client.told() == [lost])
    #expect(data["a" as Key] == 1)
    // The next connection is not affected.
    let again = Client(client.transport)
    again.send(1, .put("a", 3, hash: nil))
    pump.run()
    #expect(again.told() == [hello, "1 ok"])
  }

  @Test func `A connection can be cut after any number of messages`() {
    for count in 1...4 {
      let server = Server()
      let pump = DeliveryPump(seed: 2)
      let client = Client(server.transport(.manual(pump)))
      client.transport.disconnect(after: count, .toServer)
      for number in 1...4 as ClosedRange<UInt64> {
        client.send(number, .put(Path([Key(Int(number))]), 1, hash: nil))
      }
      pump.run()
      #expect(server.data(in: "ns").childCount == count)
      #expect(client.told().last == lost)
      #expect(server.sessions(in: "ns").isEmpty)
    }
    for count in 1...4 {
      let server = Server(ServerConfiguration(clock: ServerClock(stoppedAt: 1000)))
      let pump = DeliveryPump(seed: 3)
      let client = Client(server.transport(.manual(pump)))
      client.transport.disconnect(after: count, .toClient)
      for number in 1...4 as ClosedRange<UInt64> { client.send(number, .get(QueryTarget("a"))) }
      pump.run()
      #expect(client.told() == [hello, "1 ok", "2 ok", "3 ok"].prefix(count) + [lost])
    }
    let client = client()
    client.transport.disconnect(after: 0, .toServer)
    pump.run()
    #expect(client.told() == [lost])
  }

  @Test func `Connections are refused for a while`() {
    let transport = server.transport(.manual(pump))
    transport.refuseConnections(next: 1)
    let (one, two) = (Client(transport), Client(transport))
    pump.run()
    #expect(one.told() == ["closed: The connection was refused."])
    #expect(two.told() == [hello])
    transport.isReachable = false
    let three = Client(transport)
    pump.run()
    #expect(three.told() == ["closed: The connection was refused."])
    transport.isReachable = true
    let four = Client(transport)
    pump.run()
    #expect(four.told() == [hello])
    #expect(transport.counts.connections == 2)
  }

  @Test func `What is held waits, and nothing overtakes it`() {
    let client = client()
    client.transport.hold(.toClient)
    client.send(1, .put("a", 1, hash: nil))
    pump.run()
    #expect(client.told().isEmpty)
    #expect(data == ["a": 1])
    client.transport.hold()
    client.send(2, .put("a", 2, hash: nil))
    pump.run()
    #expect(data == ["a": 1])
    client.transport.release()
    pump.run()
    #expect(client.told() == [hello, "1 ok", "2 ok"])
  }

  @Test func `Tokens are refused, and expire`() {
    let client = client()
    client.transport.refuseTokens(next: 1, with: .expiredToken)
    client.send(1, .authenticate(Credential("ada")))
    client.send(2, .authenticate(Credential("ada")))
    pump.run()
    client.transport.expireTokens()
    pump.run()
    let told = client.told()
    #expect(told.count == 4)
    #expect(told[1].hasPrefix("1 expired_token"))
    #expect(told[2].hasPrefix("2 ok"))
    #expect(told[3].hasPrefix("auth revoked, expired_token"))
  }

  @Test func `Requests can be answered in the server's stead, and messages made up`() {
    let client = client()
    client.transport.intercept { request in
      if case .get = request { Response(.ok, node: "made up") } else { nil }
    }
    client.send(1, .get(QueryTarget("a")))
    client.send(2, .put("a", 1, hash: nil))
    pump.run()
    client.transport.inject(.reset(host: "there"))
    pump.run()
    #expect(client.told() == [hello, "1 ok, 9 bytes", "2 ok", "reset to there"])
  }

  @Test func `What is delivered is counted and can be watched`() {
    let client = client()
    server.set("a", ["x": 1], in: "ns")
    let known: Node = ["x": 2]
    client.send(1, .listen(QueryTarget("a"), tag: nil, hash: "", compound: nil))
    client.send(2, .put("a/x", 5, hash: nil))
    client.send(3, .merge("a", [NodeChange("x", 6)]))
    client.send(4, .unlisten(QueryTarget("a"), tag: nil))
    client.send(
      5,
      .listen(
        QueryTarget("a"), tag: nil, hash: NodeHash.hash(known), compound: CompoundHash(of: known)))
    client.send(6, .onDisconnectPut("a", 1))
    client.send(7, .authenticate(Credential("ada")))
    pump.run()
    let counts = client.transport.counts
    #expect(counts.listens == 2)
    #expect(counts.unlistens == 1)
    #expect(counts.writes == 2)
    #expect(counts.disconnectOperations == 1)
    #expect(counts.authentications == 1)
    #expect(counts.overwrites == 2)
    #expect(counts.merges == 1)
    #expect(counts.dataUpdates == 3)
    #expect(counts.rangeMerges == 1)
    #expect(counts.responses == 7)
    #expect(counts.toServer == 7)
    #expect(counts.toClient == 12)
    client.transport.resetCounts()
    let inbox = Inbox()
    client.transport.watch { delivered in
      if case .toClient(let message) = delivered { inbox.receive(.message(message)) }
    }
    client.send(8, .get(QueryTarget("b")))
    pump.run()
    #expect(inbox.messages() == [.response(8, .ok)])
    #expect(client.transport.counts.gets == 1)
  }

  @Test func `A seed decides the order in which clients are served`() {
    func order(_ seed: UInt64) -> [String] {
      let server = Server(ServerConfiguration(clock: ServerClock(stoppedAt: 1000)))
      let pump = DeliveryPump(seed: seed)
      let clients = (0..<3).map { _ in Client(server.transport(.manual(pump))) }
      let watcher = Peer(server)
      watcher.listen("a")
      for number in 1...5 as ClosedRange<UInt64> {
        for (index, client) in clients.enumerated() {
          client.send(
            number, .put("a", Node(.integer(Int64(index) * 10 + Int64(number))), hash: nil))
        }
      }
      pump.run()
      return watcher.news().map { push in
        if case .overwrite(_, let node, _) = push { "\(node)" } else { "?" }
      }
    }
    #expect(order(5) == order(5))
    #expect(Set((1...8).map { order($0) }).count > 1)
  }

  @Test func `Every server session of all clients can be ended at once`() {
    let (one, two) = (client(), client())
    pump.run()
    server.disconnectAll(in: "ns", reason: "over")
    one.send(1, .put("a", 1, hash: nil))
    pump.run()
    #expect(one.told() == [hello, "closed: over"])
    #expect(two.told() == [hello, "closed: over"])
    #expect(data.isEmpty)
  }
}
