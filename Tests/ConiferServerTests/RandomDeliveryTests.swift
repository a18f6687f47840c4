import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import TestSupport
import Testing

/// Clients that lose their connections at random, and resume by hashes.
@Suite struct RandomDeliveryTests {
  /// A client in the plainest form: it resumes its listens when it connects again, and sends writes
  /// without an answer once more, in order.
  private final class Client {
    let transport: InProcessTransport
    var replicas: [Replica] = []
    private var connection: (any TransportConnection)?
    private var lastSession: String?
    private var number: UInt64 = 0
    private var pending: [(number: UInt64, request: Request)] = []
    /// Written and answered.
    var acknowledged: [Path: Node] = [:]
    private var generation = 0

    init(_ transport: InProcessTransport) {
      self.transport = transport
      connect()
    }

    var isDone: Bool { pending.isEmpty }

    func listen(_ target: QueryTarget, tag: Int?) {
      replicas.append(Replica(target: target, tag: tag, node: .empty))
      send(replicas[replicas.count - 1])
    }

    func write(_ path: Path, _ node: Node) {
      pending.append((0, .put(path, node, hash: nil)))
      send(pending.count - 1)
    }

    private func connect() {
      generation += 1
      let mine = generation
      nonisolated(unsafe) let client = self
      let connection = transport.connect(
        ConnectionRequest(namespace: "ns", lastSession: lastSession)
      ) { event in client.receive(event, mine) }
      self.connection = connection
    }

    private func receive(_ event: TransportEvent, _ generation: Int) {
      guard generation == self.generation else { return }
      switch event {
      case .closed: connect()
      case .message(.hello(let hello)):
        lastSession = hello.session
        for replica in replicas { send(replica) }
        for index in pending.indices { send(index) }
      case .message(.push(let push)):
        for index in replicas.indices { replicas[index].apply(push) }
      case .message(.response(let number, let response)):
        guard let index = pending.firstIndex(where: { $0.number == number }) else { return }
        if case .put(let path, let node, _) = pending[index].request, response.status == .ok {
          acknowledged[path] = node
        }
        pending.remove(at: index)
      case .message: break
      }
    }

    private func send(_ replica: Replica) {
      number += 1
      connection?.send(
        .request(
          number,
          .listen(
            replica.target, tag: replica.tag, hash: NodeHash.hash(replica.node),
            compound: CompoundHash(of: replica.node, rangeLength: 30))))
    }

    private func send(_ index: Int) {
      number += 1
      pending[index].number = number
      connection?.send(.request(number, pending[index].request))
    }
  }

  @Test(arguments: Programs.seeds)
  func `After cuts at any message all replicas agree, and no answered write is missing`(
    seed: UInt64
  ) throws {
    var random = Seeded(seed)
    let server = Server()
    let pump = DeliveryPump(seed: seed)
    let clients = (0..<2).map { _ in Client(server.transport(.manual(pump))) }
    for (index, client) in clients.enumerated() {
      client.listen(QueryTarget(.root), tag: nil)
      client.listen(QueryTarget("shared", Programs.spec(&random)), tag: 1 + index)
    }
    for step in 0..<200 {
      let index = random.below(2)
      let client = clients[index]
      switch random.below(10) {
      case 0: client.transport.disconnect(serverNotices: random.one(in: 2))
      case 1:
        client.transport.disconnect(
          after: 1 + random.below(5), random.one(in: 2) ? .toServer : .toClient,
          serverNotices: random.one(in: 2))
      case 2: client.transport.loseAnswer()
      case 3: client.transport.refuseConnections(next: 1)
      case 4...6:
        let place = Path("own\(index)").appending(Programs.path(&random))
        client.write(place.appending(Key("s\(step)")), Programs.leaf(&random))
      default:
        client.write(Path("shared").appending(random.pick(Programs.keys)), Programs.child(&random))
      }
      pump.run(limit: random.below(20))
    }
    #expect(pump.run(limit: 100_000) < 100_000)
    for client in clients {
      #expect(client.isDone, "seed \(seed)")
      #expect(client.acknowledged.keys.contains { $0.first != "shared" }, "seed \(seed)")
      for (path, node) in client.acknowledged where path.first != "shared" {
        #expect(server.data(path, in: "ns") == node, "seed \(seed), \(path)")
      }
      for replica in client.replicas {
        let expected = replica.target.spec.filtered(server.data(replica.target.path, in: "ns"))
        #expect(replica.node == expected, "seed \(seed), \(replica.target)")
      }
    }
  }
}
