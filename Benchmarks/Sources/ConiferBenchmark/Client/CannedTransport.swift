import Conifer
import ConiferQuery
import ConiferTree
import ConiferWire
import Dispatch
import Synchronization

/// A server with almost no cost: it sends prepared nodes, and accepts every write.
final class CannedTransport: Transport {
  let description = "canned"
  private let nodes: [Path: Node]
  private let writes = Mutex(Writes())

  /// What was written, as far as a measurement needs it.
  struct Writes {
    var count = 0
    /// Whether the integers that were set only rose.
    var isInOrder = true
    fileprivate var last = Int64.min

    fileprivate mutating func note(_ node: Node) {
      count += 1
      guard case .integer(let number)? = node.leaf else { return }
      if number <= last { isInOrder = false }
      last = number
    }
  }

  init(_ nodes: [Path: Node] = [:]) { self.nodes = nodes }

  /// What was written until now.
  var written: Writes { writes.withLock { $0 } }

  func connect(
    _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
  ) -> any TransportConnection {
    Connection(self, receive)
  }

  private func answer(_ request: Request) -> [ServerMessage] {
    switch request {
    case .listen(let target, let tag, _, _):
      guard let node = nodes[target.path] else { return [] }
      return [.push(.overwrite(target.path, node, tag: tag))]
    case .put(_, let node, _): writes.withLock { $0.note(node) }
    case .merge: writes.withLock { $0.count += 1 }
    default: break
    }
    return []
  }

  private final class Connection: TransportConnection {
    private let transport: CannedTransport
    private let receive: @Sendable (TransportEvent) -> Void
    private let queue = DispatchQueue(label: "canned")
    private let isClosed = Atomic(false)

    init(_ transport: CannedTransport, _ receive: @escaping @Sendable (TransportEvent) -> Void) {
      self.transport = transport
      self.receive = receive
      queue.async {
        receive(.message(.hello(Hello(timestamp: 0, host: "localhost", session: "1"))))
      }
    }

    func send(_ message: ClientMessage) {
      guard case .request(let number, let request) = message else { return }
      queue.async { [self] in
        guard !isClosed.load(ordering: .relaxed) else { return }
        for message in transport.answer(request) { receive(.message(message)) }
        receive(.message(.response(number, .ok)))
      }
    }

    func close() {
      guard !isClosed.exchange(true, ordering: .relaxed) else { return }
      queue.async { [receive] in receive(.closed("closed")) }
    }
  }
}
