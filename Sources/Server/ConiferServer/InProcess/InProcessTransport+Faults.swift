public import ConiferWire
import Synchronization

/// Faults, scripted by tests.
extension InProcessTransport {
  // MARK: Answers

  /// Answers the next writes without doing them.
  ///
  /// - Parameters:
  ///   - count: how many; replaces what was left of an earlier script.
  ///   - status: the answer's status.
  ///   - reason: the answer's words.
  public func refuse(
    next count: Int, with status: Response.Status = .permissionDenied, reason: String? = nil
  ) {
    state.withLock {
      $0.script.writes = .init(count: count, response: Response(status, reason: reason))
    }
  }

  /// Refuses the next tokens without passing them to the server.
  public func refuseTokens(next count: Int, with status: Response.Status = .invalidToken) {
    state.withLock {
      $0.script.tokens = .init(
        count: count, response: Response(status, reason: "The token is refused by the test."))
    }
  }

  /// Passes every request to a closure first, which may answer it instead of the server; nil ends
  /// that. The closure is called while the transport is locked, and must not call the transport.
  public func intercept(_ interceptor: (@Sendable (Request) -> Response?)?) {
    state.withLock { $0.script.interceptor = interceptor }
  }

  /// Lets the server do the next writes, and cuts the connection instead of sending each answer:
  /// the client gets neither the answer nor anything after it.
  public func loseAnswers(next count: Int) { state.withLock { $0.script.lostAnswers = count } }

  /// Lets the server do the next write, and loses its answer.
  public func loseAnswer() { loseAnswers(next: 1) }

  /// Sends a message to all clients as if the server had sent it, such as `reset` or `shutdown`.
  public func inject(_ message: ServerMessage) {
    for connection in connections { connection.fromServer(.message(message)) }
  }

  /// Expires the clients' tokens.
  public func expireTokens() { for connection in connections { connection.expireToken() } }

  // MARK: Time

  /// Delays delivery; zero delivers at once. The order in each direction stays.
  ///
  /// - Parameters:
  ///   - delay: the time from sending to delivery, beginning with the next message.
  ///   - direction: which way; nil for both.
  public func delay(_ delay: Duration, _ direction: Direction? = nil) {
    state.withLock { state in
      for direction in direction.map({ [$0] }) ?? Direction.allCases {
        state.script.delays[direction] = delay > .zero ? delay : nil
      }
    }
  }

  /// Delivers nothing until `release`.
  ///
  /// - Parameter direction: which way; nil for both.
  public func hold(_ direction: Direction? = nil) {
    state.withLock { $0.script.held.formUnion(direction.map { [$0] } ?? Direction.allCases) }
  }

  /// Delivers the held messages and ends the hold.
  public func release() {
    state.withLock { $0.script.held = [] }
    for connection in connections { connection.resume() }
  }

  // MARK: Connections

  /// Cuts all connections: messages under way in both directions are lost.
  ///
  /// - Parameter serverNotices: whether the server ends the sessions. Otherwise they stay, as after
  ///   a cable was pulled, until the client names them as its last sessions or `endLost()` is
  ///   called.
  public func disconnect(serverNotices: Bool = true) {
    for connection in connections { connection.cut(serverNotices: serverNotices) }
  }

  /// Ends the sessions whose disconnections the server did not notice.
  public func endLost() {
    let lost = state.withLock { state in
      defer { state.lost = [] }
      return state.lost
    }
    for session in lost { session.end() }
  }

  /// Cuts a connection once it has delivered some more messages.
  ///
  /// - Parameters:
  ///   - count: how many, over all connections; 0 or less cuts at once.
  ///   - direction: which way; the server's `hello` counts.
  ///   - serverNotices: as for `disconnect(serverNotices:)`.
  public func disconnect(
    after count: Int, _ direction: Direction, serverNotices: Bool = true
  ) {
    if count <= 0 { return disconnect(serverNotices: serverNotices) }
    state.withLock {
      $0.script.cuts[direction] = .init(messages: count, serverNotices: serverNotices)
    }
  }

  /// Makes the next attempts to connect fail.
  public func refuseConnections(next count: Int) {
    state.withLock { $0.script.refusedConnections = count }
  }

  /// Whether clients can connect. Setting false does not cut existing connections.
  public var isReachable: Bool {
    get { state.withLock { $0.script.isReachable } }
    set { state.withLock { $0.script.isReachable = newValue } }
  }
}
