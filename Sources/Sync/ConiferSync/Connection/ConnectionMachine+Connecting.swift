import ConiferWire

extension ConnectionMachine {
  // MARK: Between connections

  mutating func open(_ reason: CloseReason) {
    // Also without a connection what the app writes belongs to a user.
    if reason == .starting, identification.isAsked { client.fetchToken(isConnected: false) }
    guard case .closed(var reasons) = state else { return connectSooner() }
    reasons.remove(reason)
    if reason == .offline { reasons.remove(.shutdown) }
    state = .closed(reasons)
    guard reasons.isEmpty else { return }
    client.backoff.reset()
    connectLater()
  }

  mutating func close(_ reason: CloseReason) {
    var reasons: Set<CloseReason> = [reason]
    if case .closed(let others) = state { reasons.formUnion(others) }
    endConnection()
    client.backoff.reset()
    state = .closed(reasons)
  }

  /// Begins a waiting attempt at once, unless it waits because tokens were refused.
  mutating func connectSooner() {
    guard case .waiting = state, !client.auth.isSlowed else { return }
    client.backoff.reset()
    connectLater()
  }

  /// Connects after the delay that is due, which may be none.
  mutating func connectLater() {
    var delay = client.backoff.next()
    if client.auth.isSlowed { delay = max(delay, client.limits.delays.longest) }
    if delay > 0 {
      state = .waiting(until: client.now.uptime.adding(delay))
    } else {
      attempt()
    }
  }

  /// Asks for a token where there is a provider, and connects.
  mutating func attempt() {
    guard client.auth.usesTokens else { return connect() }
    state = .fetchingToken
    client.fetchToken(isConnected: false)
  }

  mutating func connect() {
    route.lastConnection += 1
    let number = ConnectionNumber(rawValue: route.lastConnection)
    state = .connecting(number, since: client.now.uptime)
    let request = ConnectionRequest(
      namespace: namespace, host: route.host, lastSession: route.lastSession)
    client.actions.append(.connect(request, number))
  }

  mutating func greet(_ hello: Hello, _ number: ConnectionNumber) {
    guard case .connecting = state else { return client.log("The server said hello twice.") }
    if !hello.host.isEmpty { route.host = hello.host }
    route.lastSession = hello.session
    client.offset = hello.timestamp &- client.now.wallTime
    client.actions.append(.offset(client.offset))
    client.actions.append(.connected(true))
    client.auth.scheduleReplacement(at: client.now, offset: client.offset)
    state = .connected(Session(number, &client))
  }

  /// The server sends the client to another host.
  mutating func redirect(to host: String) {
    endConnection()
    route.host = host
    // Servers may send the client to one another for ever.
    if !route.wasRedirected { client.backoff.reset() }
    route.wasRedirected = true
    connectLater()
  }

  /// Ends the connection or the attempt; the caller gives the next state.
  ///
  /// - Parameter isClosed: whether the transport has closed it already.
  mutating func endConnection(isClosed: Bool = false) {
    switch state {
    case .closed, .waiting, .fetchingToken: break
    case .connecting(let number, _):
      // The server's redirection may be what does not work.
      route.host = nil
      if !isClosed { client.actions.append(.disconnect(number)) }
    case .connected(var session):
      if !isClosed { client.actions.append(.disconnect(session.number)) }
      if client.now.uptime.subtracting(session.opened) >= client.limits.stableTime {
        client.backoff.reset()
        route.wasRedirected = false
      }
      session.end(&client)
    }
  }
}
