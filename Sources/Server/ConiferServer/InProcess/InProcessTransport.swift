public import ConiferWire
import Dispatch
import Synchronization

extension Server {
  /// A transport to this server within the process.
  ///
  /// Give each client a transport of its own, so that faults affect only that client.
  ///
  /// - Parameter delivery: what delivers messages; by default a queue for each connection.
  public func transport(_ delivery: InProcessTransport.Delivery = .queues) -> InProcessTransport {
    InProcessTransport(to: self, delivery)
  }
}

/// A transport between clients and a server in the same process, with faults that tests can script.
///
/// Messages are delivered in order, asynchronously, and never on the sender's stack. The faults are
/// in `InProcessTransport+Faults.swift`; they apply from the next delivery on.
public final class InProcessTransport: Transport {
  /// Whether messages are delivered by queues or by the steps of a ``DeliveryPump``.
  public enum Delivery: Sendable {
    /// A serial queue for each connection.
    case queues
    /// Only calls of `DeliveryPump.step`, in an order that its seed determines. Delays are ignored.
    case manual(DeliveryPump)
  }

  /// The direction of a message, to the server or to the client.
  public enum Direction: Hashable, Sendable, CaseIterable {
    /// From the client to the server.
    case toServer
    /// From the server to the client.
    case toClient
  }

  /// A message that was delivered to the server or to the client.
  public enum Delivered: Sendable {
    /// The server has it.
    case toServer(ClientMessage)
    /// The client has it.
    case toClient(ServerMessage)
  }

  struct State {
    var script = FaultScript()
    var counts = DeliveryCounts()
    var watcher: (@Sendable (Delivered) -> Void)?
    var connections: [InProcessConnection] = []
    var lastConnection: UInt64 = 0
    /// How many deliveries queues have still to make.
    var scheduled = 0
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    /// Sessions that still exist although their connections are gone.
    var lost: [ServerSession] = []
  }

  /// The server that it connects to.
  public let server: Server
  let delivery: Delivery
  let state = Mutex(State())

  init(to server: Server, _ delivery: Delivery) {
    self.server = server
    self.delivery = delivery
  }

  /// Counts of delivered messages since the transport was made, or since `resetCounts()`.
  public var counts: DeliveryCounts { state.withLock { $0.counts } }

  /// Counts from zero again.
  public func resetCounts() { state.withLock { $0.counts = DeliveryCounts() } }

  /// Calls a closure with each message right before its delivery, on the delivering thread; nil
  /// ends that.
  public func watch(_ watcher: (@Sendable (Delivered) -> Void)?) {
    state.withLock { $0.watcher = watcher }
  }

  /// Connects to the server, or fails if that is scripted.
  public func connect(
    _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
  ) -> any TransportConnection {
    let (isRefused, connection) = state.withLock { state in
      state.lastConnection += 1
      let connection = InProcessConnection(
        number: state.lastConnection, transport: self, request: request, receive: receive)
      state.connections.append(connection)
      return (state.script.takeConnection(), connection)
    }
    if case .manual(let pump) = delivery { pump.add(connection) }
    connection.start(isRefused: isRefused)
    return connection
  }

  /// The transport itself: it connects to its server for every host.
  public func leading(to host: String, isSecure: Bool) -> (any Transport)? { self }

  /// The connections that are not closed yet, oldest first.
  var connections: [InProcessConnection] { state.withLock { $0.connections } }

  func remove(_ connection: InProcessConnection) {
    state.withLock { state in state.connections.removeAll { $0 === connection } }
  }

  /// Delivers one message in any direction, of any transport that shares the pump. Only with
  /// `Delivery.manual`.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  public func step() -> Bool {
    if case .manual(let pump) = delivery { return pump.step() }
    return false
  }

  /// Returns when queues have delivered all that was sent, also on connections that are closed.
  package func waitUntilDelivered() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.scheduled > 0 { state.idleWaiters.append(continuation) }
        return state.scheduled == 0
      }
      if isIdle { continuation.resume() }
    }
  }

  /// A queue has made one of the deliveries.
  func delivered() {
    let waiters = state.withLock { state in
      state.scheduled -= 1
      guard state.scheduled == 0, !state.idleWaiters.isEmpty else {
        return [] as [CheckedContinuation<Void, Never>]
      }
      defer { state.idleWaiters = [] }
      return state.idleWaiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Whether no message is under way.
  public var isIdle: Bool { connections.allSatisfy { $0.isIdle } }

  /// The kind of transport.
  public var description: String { "in-process" }
}
