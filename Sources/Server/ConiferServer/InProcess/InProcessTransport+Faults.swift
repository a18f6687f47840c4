public import ConiferWire
import Synchronization

/// What goes wrong, scripted by tests.
extension InProcessTransport {
  // MARK: Answers

  /// Has the next writes answered without being done.
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

  /// Has the next tokens answered without reaching the server.
  public func refuseTokens(next count: Int, with status: Response.Status = .invalidToken) {
    state.withLock {
      $0.script.tokens = .init(
        count: count, response: Response(status, reason: "The token is refused by the test."))
    }
  }

  /// Has every request shown to a closure first, which may answer it in the server's stead; nil to
  /// end that. It is called while the transport is locked, and must call nothing of it.
  public func intercept(_ interceptor: (@Sendable (Request) -> Response?)?) {
    state.withLock { $0.script.interceptor = interceptor }
  }

  /// Has the next writes done, but the client hears neither of their answers nor of anything after
  /// them: the connection is cut when the answer would be sent.
  public func loseAnswers(next count: Int) { state.withLock { $0.script.lostAnswers = count } }

  /// Has the next write done and its answer lost.
  public func loseAnswer() { loseAnswers(next: 1) }

  /// Sends a message of the server's to all clients, such as `reset` or `shutdown`.
  public func inject(_ message: ServerMessage) {
    for connection in connections { connection.fromServer(.message(message)) }
  }

  /// Ends the validity of the clients' tokens.
  public func expireTokens() { for connection in connections { connection.expireToken() } }

  // MARK: Time

  /// Delivers later by a time; zero for at once. Nothing overtakes another message of its direction.
  ///
  /// - Parameters:
  ///   - delay: the time from sending to delivery, from the next message on.
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

  /// Delivers what was held, and goes on.
  public func release() {
    state.withLock { $0.script.held = [] }
    for connection in connections { connection.resume() }
  }

  // MARK: Connections

  /// Cuts all connections: what is under way, either way, is lost.
  ///
  /// - Parameter serverNotices: whether the server ends the sessions; otherwise they live on, as
  ///   after a cable was pulled, until the client names them as its last ones or `endLost()`.
  public func disconnect(serverNotices: Bool = true) {
    for connection in connections { connection.cut(serverNotices: serverNotices) }
  }

  /// Ends the sessions whose ends the server did not notice.
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

  /// Has the next attempts to connect fail.
  public func refuseConnections(next count: Int) {
    state.withLock { $0.script.refusedConnections = count }
  }

  /// Whether clients can connect; setting false cuts no connection.
  public var isReachable: Bool {
    get { state.withLock { $0.script.isReachable } }
    set { state.withLock { $0.script.isReachable = newValue } }
  }
}
