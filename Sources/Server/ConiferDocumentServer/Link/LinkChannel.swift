import ConiferWire
import Dispatch
import Synchronization

/// A stream, or a request without one, on its way between a client and the server: the messages of each direction
/// are delivered in order, asynchronously and never on the sender's stack.
final class LinkChannel: Sendable {
  /// A message to the server.
  struct ToServer: Sendable {
    enum Kind: Sendable {
      case open, message, end
    }

    let kind: Kind
    let run: @Sendable () -> Void
  }

  /// A message to the client.
  struct ToClient: Sendable {
    enum Kind: Sendable {
      case message, answer, closed
    }

    let kind: Kind
    let run: @Sendable () -> Void
  }

  private struct State {
    var toServer: FIFO<ToServer> = FIFO()
    var toClient: FIFO<ToClient> = FIFO()
    /// How many messages of a direction its queue is to deliver at once.
    var ready: [DocumentLink.Direction: Int] = [:]
    /// Whether the end was queued for the client: it gets nothing after it.
    var isClosing = false
    /// Whether the server has begun with it, or never will.
    var isOpen = false
    /// Why it ends, as the client is told.
    var error: StatusError?
    /// When the last message of a direction is delivered, by the pump's time.
    var due: [DocumentLink.Direction: Duration] = [:]
  }

  private let link: DocumentLink
  private let queue = DispatchQueue(label: "conifer.documents.link")
  private let state = Mutex(State())
  /// Tells the client the end.
  private let closed: @Sendable (StatusError?) -> Void
  /// Tells the server the end.
  private let end: @Sendable () -> Void

  init(
    _ link: DocumentLink, end: @escaping @Sendable () -> Void,
    closed: @escaping @Sendable (StatusError?) -> Void
  ) {
    self.link = link
    self.end = end
    self.closed = closed
  }

  // MARK: Sending

  func open(_ run: @escaping @Sendable () -> Void) { send(ToServer(kind: .open, run: run)) }

  func send(_ run: @escaping @Sendable () -> Void) { send(ToServer(kind: .message, run: run)) }

  private func send(_ message: ToServer) {
    let isSent = state.withLock { state in
      if state.isClosing { return false }
      state.toServer.append(message)
      return true
    }
    if isSent { schedule(.toServer) }
  }

  /// Queues a message of the server's.
  func tell(isAnswer: Bool = false, _ run: @escaping @Sendable () -> Void) {
    let isSent = state.withLock { state in
      if state.isClosing { return false }
      state.toClient.append(ToClient(kind: isAnswer ? .answer : .message, run: run))
      return true
    }
    if isSent { schedule(.toClient) }
  }

  /// The server has ended it; what it said before is delivered first.
  func endedByServer(_ error: StatusError?) { finish(error, isCut: false, reachesServer: false) }

  /// The client ends it: what it sent before still reaches the server.
  func closeByClient() { finish(nil, isCut: true, reachesServer: true) }

  /// It breaks: what is on its way to the client is lost, also why the server ended it.
  ///
  /// - Parameter arrives: whether what is on its way to the server still arrives there.
  func cut(_ error: StatusError, arrives: Bool) {
    finish(error, isCut: true, reachesServer: arrives)
  }

  private func finish(_ error: StatusError?, isCut: Bool, reachesServer: Bool) {
    let isFirst = state.withLock { state in
      if !reachesServer { state.toServer.removeAll(where: { $0.kind != .end }) }
      if isCut { state.toClient.removeAll(where: { $0.kind != .closed }) }
      let isFirst = !state.isClosing
      if isCut || isFirst { state.error = error }
      guard isFirst else { return false }
      state.isClosing = true
      state.toServer.append(ToServer(kind: .end, run: end))
      state.toClient.append(
        ToClient(kind: .closed) { [self] in closed(self.state.withLock { $0.error }) })
      return true
    }
    guard isFirst else { return }
    schedule(.toServer)
    schedule(.toClient, isEnd: true)
  }

  // MARK: Delivery

  /// Whether nothing is on its way.
  var isIdle: Bool { state.withLock { $0.toServer.isEmpty && $0.toClient.isEmpty } }

  /// - Parameter isEnd: whether it is the client's end, which comes behind what is on its way to the server.
  private func schedule(_ direction: DocumentLink.Direction, isEnd: Bool = false) {
    let delay = link.script { $0.delay(direction) }
    guard case .pump(let pump) = link.delivery else {
      guard delay > .zero else {
        return isEnd ? queue.async { self.deliver(direction) } : deliverSoon(direction)
      }
      let (seconds, attoseconds) = delay.components
      let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
      return queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) {
        self.deliver(direction)
      }
    }
    let due = state.withLock { state in
      // What was sent first is delivered first.
      let due = max(pump.now + delay, state.due[direction] ?? .zero)
      state.due[direction] = due
      return due
    }
    pump.call(at: due) { self.deliver(direction) }
  }

  /// Has the queue deliver one more message. Those of one moment of a server's are delivered together, since a turn of the
  /// queue costs as much as several messages.
  private func deliverSoon(_ direction: DocumentLink.Direction) {
    let isFirst = state.withLock { state in
      state.ready[direction, default: 0] += 1
      return state.ready[direction] == 1
    }
    guard isFirst else { return }
    queue.async { [self] in
      // What comes from now on has a turn of its own, so that no direction waits for the other for long.
      let ready = state.withLock { $0.ready.removeValue(forKey: direction) ?? 0 }
      for _ in 0..<ready { deliver(direction) }
    }
  }

  /// Returns when its queue has delivered all that was sent by now.
  func waitUntilDelivered() async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }

  /// Delivers what was held.
  func resume() {
    let (toServer, toClient) = state.withLock { ($0.toServer.count, $0.toClient.count) }
    for _ in 0..<toServer { schedule(.toServer) }
    for _ in 0..<toClient { schedule(.toClient) }
  }

  private func deliver(_ direction: DocumentLink.Direction) {
    if link.script({ $0.held.contains(direction) }) { return }
    switch direction {
    case .toServer:
      if let message = state.withLock({ $0.toServer.popFirst() }) { deliver(message) }
    case .toClient:
      if let message = state.withLock({ $0.toClient.popFirst() }) { deliver(message) }
    }
  }

  private func deliver(_ message: ToServer) {
    switch message.kind {
    case .end: if state.withLock({ $0.isOpen }) { message.run() }
    case .open:
      if link.script({ $0.refusesOpen() }) { return cut(Self.unreachable, arrives: false) }
      state.withLock { $0.isOpen = true }
      link.count { $0.streams += 1 }
      message.run()
      cutIfScripted(.toServer)
    case .message:
      // Messages that were sent after a lost message do not arrive either.
      if link.script({ $0.random.chance($0.faults.cuts) }) { return cut(Self.lost, arrives: false) }
      message.run()
      cutIfScripted(.toServer)
    }
  }

  private func deliver(_ message: ToClient) {
    switch message.kind {
    case .closed:
      link.remove(self)
      message.run()
    case .answer:
      if link.script({ $0.losesAnswer() }) { return cutByChance() }
      message.run()
      cutIfScripted(.toClient)
    case .message:
      if link.script({ $0.random.chance($0.faults.cuts) }) { return cutByChance() }
      message.run()
      cutIfScripted(.toClient)
    }
  }

  private func cutByChance() {
    cut(Self.lost, arrives: link.script { $0.random.chance(0.5) })
  }

  private func cutIfScripted(_ direction: DocumentLink.Direction) {
    if link.script({ $0.takeCut(direction) }) { link.cut() }
  }

  static let unreachable = StatusError(
    .unavailable, "The server cannot be reached. The client tries again by itself.")
  static let lost = StatusError(
    .unavailable, "The connection was lost. The client opens another one by itself.")
}
