import ConiferStorage
import ConiferWire

/// Connects: whether there is a connection or an attempt, when the next attempt is made, and what ends them.
struct Connector: Sendable {
  private enum State: Sendable {
    /// There are reasons not to connect; none only while `whileConnected` has the session.
    case closed(Set<CloseReason>)
    /// The next attempt waits for an uptime.
    case waiting(until: Milliseconds)
    /// The token provider is asked before connecting.
    case fetchingToken
    /// The provider of the app's own tokens is asked, which comes last, and waited for since an uptime, however often it is
    /// asked anew.
    case fetchingAppToken(since: Milliseconds)
    /// The server's hello is waited for.
    case connecting(ConnectionNumber, since: Milliseconds)
    /// The server has said hello.
    case connected(Session)
  }

  private var state = State.closed([.starting])
  private var route: ServerRoute

  init(namespace: String) { route = ServerRoute(namespace: namespace) }

  /// The number of the connection or of the attempt.
  var number: ConnectionNumber? {
    switch state {
    case .closed, .waiting, .fetchingToken, .fetchingAppToken: nil
    case .connecting(let number, _): number
    case .connected(let session): session.number
    }
  }

  /// The connection on which the server has said hello.
  var session: Session? { if case .connected(let session) = state { session } else { nil } }

  /// Whether a token of the app that comes now is of use to the connection or the attempt.
  var usesAppToken: Bool {
    switch state {
    case .closed, .waiting, .fetchingToken: false
    case .fetchingAppToken, .connecting, .connected: true
    }
  }

  /// Whether the app went offline, or the server sent the client away.
  var isAway: Bool {
    guard case .closed(let reasons) = state else { return false }
    return reasons.contains(.offline) || reasons.contains(.shutdown)
  }

  /// Changes the session, if there is one. It is taken out of the state meanwhile, so that it has one owner
  /// and is changed without being copied.
  mutating func whileConnected(
    _ client: inout ClientState, _ body: (inout Session, inout ClientState) -> Void
  ) {
    guard case .connected(var session) = state else { return }
    state = .closed([])
    body(&session, &client)
    state = .connected(session)
  }

  // MARK: Reasons not to connect

  /// A reason not to connect ended; without any left the next attempt begins at once.
  mutating func reasonEnded(_ reason: CloseReason, _ client: inout ClientState) {
    // Even without a connection, the app's writes must belong to a user.
    if reason == .starting, client.auth.identification.isAsked {
      client.fetchToken(isConnected: false)
    }
    guard case .closed(var reasons) = state else { return connectSooner(&client) }
    reasons.remove(reason)
    if reason == .offline { reasons.remove(.shutdown) }
    state = .closed(reasons)
    guard reasons.isEmpty else { return }
    client.backoff.reset()
    connectLater(&client)
  }

  /// A reason not to connect began.
  mutating func reasonBegan(_ reason: CloseReason, _ client: inout ClientState) {
    var reasons: Set<CloseReason> = [reason]
    if case .closed(let others) = state { reasons.formUnion(others) }
    endConnection(&client)
    client.backoff.reset()
    state = .closed(reasons)
  }

  // MARK: Attempts

  /// Begins a waiting attempt at once, unless it waits because tokens were refused.
  mutating func connectSooner(_ client: inout ClientState) {
    guard case .waiting = state, !client.auth.usesLongestDelay else { return }
    client.backoff.reset()
    connectLater(&client)
  }

  /// Connects after the delay that is due, which may be none.
  private mutating func connectLater(_ client: inout ClientState) {
    var delay = client.backoff.next()
    if client.auth.usesLongestDelay { delay = max(delay, client.limits.delays.longest) }
    if delay > 0 {
      state = .waiting(until: client.now.uptime.adding(delay))
    } else {
      attempt(&client)
    }
  }

  /// Asks for a token where there is a provider, and connects.
  private mutating func attempt(_ client: inout ClientState) {
    guard client.auth.usesTokens else { return connect(&client) }
    state = .fetchingToken
    client.fetchToken(isConnected: false)
  }

  /// Asks for a token of the app where there is a provider and no token, and connects.
  private mutating func connect(_ client: inout ClientState) {
    guard client.appCheck.isMissing(at: client.now.uptime) else { return open(&client) }
    state = .fetchingAppToken(since: client.now.uptime)
    client.fetchAppToken()
  }

  /// The provider of the app's tokens has answered: the connection is made, if need be without one.
  mutating func appTokenAnswered(_ client: inout ClientState) {
    guard case .fetchingAppToken = state else { return }
    open(&client)
  }

  private mutating func open(_ client: inout ClientState) {
    let next = route.next()
    var request = next.request
    request.appToken = client.appCheck.token?.credential
    state = .connecting(next.number, since: client.now.uptime)
    client.actions.append(.connect(request, next.number))
  }

  /// The token provider has said who is signed in: what waited for that goes on.
  mutating func signedIn(_ client: inout ClientState) {
    switch state {
    case .closed, .fetchingAppToken, .connecting, .connected: break
    // The user may have been the cause of earlier refusals; the delay after them stays.
    case .waiting: if !client.auth.usesLongestDelay { connect(&client) }
    case .fetchingToken: connect(&client)
    }
  }

  /// The token provider failed, or did not answer in time.
  mutating func tokenFailed(
    _ reason: String, isTimeout: Bool = false, _ client: inout ClientState
  ) {
    var isBlocking = false
    switch state {
    case .fetchingToken:
      isBlocking = !client.auth.canUseLast(at: client.now, offset: client.offset)
    // The provider was asked without a connection, because the first writes wait to know their
    // user.
    case .closed: isBlocking = isTimeout && client.auth.token == nil
    case .waiting, .fetchingAppToken, .connecting, .connected: break
    }
    client.tokenFailed(reason, isBlocking: isBlocking)
    guard case .fetchingToken = state else { return }
    if isBlocking {
      connectLater(&client)
    } else {
      connect(&client)
    }
  }

  // MARK: What the server says

  /// The server said hello.
  mutating func greet(_ hello: Hello, _ client: inout ClientState) {
    guard case .connecting(let number, _) = state else {
      return client.log("The server said hello twice.")
    }
    route.greeted(hello)
    client.greeted(hello)
    state = .connected(Session(number, &client))
  }

  /// The server sends the client to another host.
  mutating func redirect(to host: String, _ client: inout ClientState) {
    endConnection(&client)
    // Servers may redirect the client to one another for ever.
    if !route.wasRedirected { client.backoff.reset() }
    route.redirected(to: host)
    connectLater(&client)
  }

  /// The transport has closed the connection, or could not open it.
  mutating func lost(_ reason: String, _ client: inout ClientState) {
    client.log("The connection ended: \(reason)")
    endConnection(isClosed: true, &client)
    connectLater(&client)
  }

  // MARK: Time

  /// When the present state ends by itself.
  func deadline(_ limits: ConnectionLimits) -> Milliseconds? {
    switch state {
    case .closed, .fetchingToken: nil
    case .waiting(let until): until
    case .fetchingAppToken(let since): since.adding(limits.appTokenTimeout)
    case .connecting(_, let since): since.adding(limits.connectTimeout)
    case .connected(let session): session.answerDeadline(limits)
    }
  }

  /// The deadline has come.
  mutating func timedOut(_ client: inout ClientState) {
    switch state {
    case .closed, .fetchingToken: return
    case .waiting: return attempt(&client)
    case .fetchingAppToken:
      client.log("The provider of the app's tokens did not answer in time.")
      return open(&client)
    case .connecting: client.log("The server did not say hello in time.")
    case .connected: client.log("The server does not answer.")
    }
    endConnection(&client)
    connectLater(&client)
  }

  /// Ends the connection or the attempt; the caller gives the next state.
  ///
  /// - Parameter isClosed: whether the transport has closed it already.
  private mutating func endConnection(isClosed: Bool = false, _ client: inout ClientState) {
    switch state {
    case .closed, .waiting, .fetchingToken, .fetchingAppToken: break
    case .connecting(let number, _):
      route.failed()
      if !isClosed { client.actions.append(.disconnect(number)) }
    case .connected(var session):
      if !isClosed { client.actions.append(.disconnect(session.number)) }
      if client.now.uptime.subtracting(session.opened) >= client.limits.stableTime {
        client.backoff.reset()
        route.becameStable()
      }
      session.end(&client)
    }
  }
}
