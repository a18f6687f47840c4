import ConiferWire
import Dispatch
import Synchronization

/// One connection within the process: a queue of messages in each direction.
final class InProcessConnection: TransportConnection {
  typealias Direction = InProcessTransport.Direction

  /// A message or event for the server.
  private enum ToServer: Sendable {
    case open
    case message(ClientMessage)
    case probe
    case end
  }

  private struct State: Sendable {
    var toServer = FIFO<ToServer>()
    var toClient = FIFO<TransportEvent>()
    var session: ServerSession?
    /// Whether `closed` is under way to the client: nothing else is sent or received after it.
    var isClosing = false
    /// The request whose answer is lost.
    var lost: UInt64?
    /// How many more messages the client accepts.
    var credit: MessageCredit

    /// The first event under way to the client, if it may be delivered.
    var hasCredit: Bool {
      switch toClient.first {
      case nil: false
      case .closed: true
      case .message(let message): credit.isLeft || !MessageCredit.counts(message)
      }
    }

    mutating func takeForClient() -> TransportEvent? {
      guard hasCredit, let event = toClient.popFirst() else { return nil }
      if case .message(let message) = event { credit.take(for: message) }
      return event
    }
  }

  /// The maximum number of messages that wait for a client; beyond it the client is cut off.
  private static let maximumWaiting = 100_000

  let number: UInt64
  private let transport: InProcessTransport
  private let request: ConnectionRequest
  private let receive: @Sendable (TransportEvent) -> Void
  private let queue: DispatchQueue?
  private let state: Mutex<State>

  init(
    number: UInt64, transport: InProcessTransport, request: ConnectionRequest,
    receive: @escaping @Sendable (TransportEvent) -> Void
  ) {
    self.number = number
    self.transport = transport
    self.request = request
    self.receive = receive
    state = Mutex(State(credit: MessageCredit(request.credit)))
    if case .queues = transport.delivery {
      queue = DispatchQueue(label: "conifer.connection.\(number)")
    } else {
      queue = nil
    }
  }

  func start(isRefused: Bool) {
    if isRefused {
      close(.closed("The connection was refused."), nil)
    } else {
      state.withLock { $0.toServer.append(.open) }
      schedule(.toServer)
    }
  }

  // MARK: The client's side

  func send(_ message: ClientMessage) {
    let isSent = state.withLock { state in
      if state.isClosing { return false }
      state.toServer.append(.message(message))
      return true
    }
    if isSent { schedule(.toServer) }
  }

  func grantCredit(_ messages: Int) {
    let waiting = state.withLock { state in
      state.credit.grant(messages)
      return min(messages, state.toClient.count)
    }
    for _ in 0..<waiting { schedule(.toClient) }
  }

  /// A probe takes the same path as messages, in both directions.
  func probe() -> Bool {
    let isSent = state.withLock { state in
      if state.isClosing { return false }
      state.toServer.append(.probe)
      return true
    }
    if isSent { schedule(.toServer) }
    return true
  }

  /// Messages sent before still reach the server.
  func close() { close(.closed("The client closed the connection."), .end) }

  /// Drops the messages under way.
  func cut(serverNotices: Bool) {
    let session = state.withLock { state in
      if !state.isClosing { state.toServer.removeAll() }
      return state.isClosing ? nil : state.session
    }
    if !serverNotices, let session { transport.state.withLock { $0.lost.append(session) } }
    close(.closed("The connection was lost."), serverNotices ? .end : nil)
  }

  private func close(_ event: TransportEvent, _ end: ToServer?) {
    let isFirst = state.withLock { state in
      if state.isClosing { return false }
      state.isClosing = true
      state.toClient.removeAll()
      state.toClient.append(event)
      if let end { state.toServer.append(end) }
      return true
    }
    guard isFirst else { return }
    schedule(.toClient)
    if end != nil { schedule(.toServer) }
  }

  // MARK: The server's side

  /// Queues an event from the server; called while its database is locked.
  func fromServer(_ event: TransportEvent) {
    enum Verdict {
      case drop
      case deliver
      case cut
    }
    let verdict = state.withLock { state -> Verdict in
      if state.isClosing { return .drop }
      if let lost = state.lost {
        if case .message(.response(lost, _)) = event { return .cut }
        if case .message = event { return .drop }
      }
      if state.toClient.count >= Self.maximumWaiting { return .cut }
      state.toClient.append(event)
      if case .closed = event { state.isClosing = true }
      return .deliver
    }
    switch verdict {
    case .drop: break
    case .deliver: schedule(.toClient)
    case .cut: cut(serverNotices: true)
    }
  }

  func expireToken() { state.withLock { $0.session }?.expireToken() }

  // MARK: Delivery

  /// Whether nothing is under way.
  var isIdle: Bool { state.withLock { $0.toServer.isEmpty && $0.toClient.isEmpty } }

  /// Whether nothing can be delivered any more.
  var isDone: Bool { isIdle && state.withLock { $0.isClosing } }

  /// Whether something waits in a direction that is not held.
  func isReady(_ direction: Direction) -> Bool {
    if transport.state.withLock({ $0.script.held.contains(direction) }) { return false }
    return direction == .toServer ? count(direction) > 0 : state.withLock { $0.hasCredit }
  }

  private func count(_ direction: Direction) -> Int {
    state.withLock { direction == .toServer ? $0.toServer.count : $0.toClient.count }
  }

  private func schedule(_ direction: Direction) {
    guard let queue else { return }
    let delay = transport.state.withLock { state in
      state.scheduled += 1
      return state.script.delays[direction]
    }
    let work: @Sendable () -> Void = {
      self.deliver(direction)
      self.transport.delivered()
    }
    guard let delay else { return queue.async(execute: work) }
    let (seconds, attoseconds) = delay.components
    let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: work)
  }

  /// Delivers the held messages.
  func resume() {
    for direction in Direction.allCases {
      for _ in 0..<count(direction) { schedule(direction) }
    }
  }

  /// Delivers the first message of a direction, if there is one that is not held.
  func deliver(_ direction: Direction) {
    guard isReady(direction) else { return }
    switch direction {
    case .toServer:
      if let next = state.withLock({ $0.toServer.popFirst() }) { deliver(next) }
    case .toClient:
      if let next = state.withLock({ $0.takeForClient() }) { deliver(next) }
    }
  }

  private func deliver(_ item: ToServer) {
    switch item {
    case .open:
      let session = transport.server.connect(
        to: request.namespace, host: request.host, lastSession: request.lastSession
      ) { self.fromServer($0) }
      state.withLock { $0.session = session }
    case .end: state.withLock { $0.session.take() }?.end()
    case .probe: fromServer(.message(.pong))
    case .message(let message):
      tell(.toServer(message)) { $0.count(message) }
      if case .request(let number, let request) = message {
        let (answer, isLost) = transport.state.withLock { state in
          let answer = state.script.takeAnswer(request)
          return (answer, answer == nil && state.script.losesAnswer(request))
        }
        if isLost { state.withLock { $0.lost = number } }
        if let answer {
          fromServer(.message(.response(number, answer)))
        } else {
          session?.receive(message)
        }
      } else {
        session?.receive(message)
      }
      cutIfScripted(.toServer)
    }
  }

  private var session: ServerSession? { state.withLock { $0.session } }

  private func deliver(_ event: TransportEvent) {
    switch event {
    case .closed:
      transport.remove(self)
      receive(event)
    case .message(let message):
      tell(.toClient(message)) { $0.count(message) }
      receive(event)
      cutIfScripted(.toClient)
    }
  }

  private func tell(
    _ delivered: InProcessTransport.Delivered, _ count: (inout DeliveryCounts) -> Void
  ) {
    let watcher = transport.state.withLock { state in
      count(&state.counts)
      return state.watcher
    }
    watcher?(delivered)
  }

  private func cutIfScripted(_ direction: Direction) {
    guard let cut = transport.state.withLock({ $0.script.takeCut(direction) }) else { return }
    transport.state.withLock { $0.connections }.forEach { $0.cut(serverNotices: cut.serverNotices) }
  }
}
