import ConiferWire

extension ConnectionMachine {
  mutating func open(_ reason: CloseReason) {
    closeReasons.remove(reason)
    if reason == .offline { closeReasons.remove(.shutdown) }
    // Also without a connection what the app writes is somebody's.
    if reason == .starting, identification.isAsked { fetchToken() }
    guard closeReasons.isEmpty, case .idle = phase else { return connectSooner() }
    backoff.reset()
    retry()
  }

  mutating func close(_ reason: CloseReason) {
    closeReasons.insert(reason)
    end()
    backoff.reset()
    phase = .idle
  }

  /// Begins a waiting attempt at once, unless it waits because tokens were refused.
  mutating func connectSooner() {
    guard case .waiting = phase, !auth.isSlowed else { return }
    backoff.reset()
    retry()
  }

  /// Connects again, at once or after a delay.
  mutating func retry() {
    guard closeReasons.isEmpty else {
      phase = .idle
      return
    }
    var delay = backoff.next()
    if auth.isSlowed { delay = max(delay, limits.longestDelay) }
    if delay > 0 {
      phase = .waiting(until: now.uptime.adding(delay))
    } else {
      attempt()
    }
  }

  /// Asks for a token where there is a provider, and connects.
  mutating func attempt() {
    guard auth.usesTokens else { return connect() }
    phase = .fetching
    fetchToken()
  }

  mutating func connect() {
    lastConnection += 1
    let number = ConnectionNumber(rawValue: lastConnection)
    phase = .connecting(number, since: now.uptime)
    let request = ConnectionRequest(namespace: namespace, host: host, lastSession: lastSession)
    actions.append(.connect(request, number))
  }

  mutating func receive(_ event: TransportEvent, _ number: ConnectionNumber) {
    switch phase {
    case .connecting(let current, _) where current == number: break
    case .connected where session?.number == number: break
    default: return
    }
    switch event {
    case .message(let message):
      session?.hear(at: now.uptime)
      receive(message, number)
    case .closed(let reason):
      actions.append(.noted("The connection ended: \(reason)"))
      end(isClosed: true)
      retry()
    }
  }

  private mutating func receive(_ message: ServerMessage, _ number: ConnectionNumber) {
    switch message {
    case .hello(let hello): greet(hello, number)
    case .response(let request, let response): receive(response, to: request)
    case .push(let push): receive(push)
    case .reset(let host):
      end()
      self.host = host
      // Servers may send the client to one another for ever.
      if !wasReset { backoff.reset() }
      wasReset = true
      retry()
    case .shutdown(let reason):
      close(.shutdown)
      actions.append(.shutDown(reason))
    case .error(let text): actions.append(.noted("The server reports an error: \(text)"))
    case .pong: break
    case .unknown(let words):
      actions.append(.noted("The server sends what this version does not know: \(words)"))
    }
  }

  private mutating func greet(_ hello: Hello, _ number: ConnectionNumber) {
    guard case .connecting = phase else {
      return actions.append(.noted("The server said hello twice."))
    }
    phase = .connected
    session = Session(number, at: now.uptime)
    if !hello.host.isEmpty { host = hello.host }
    lastSession = hello.session
    offset = hello.timestamp &- now.wallTime
    actions.append(.offset(offset))
    actions.append(.connected(true))
    auth.reckon(at: now, offset: offset)
    if let token = auth.token {
      authenticate(token)
    } else {
      establish()
    }
  }

  /// Ends the connection or the attempt, and settles what was under way.
  ///
  /// - Parameter isClosed: whether the transport has closed it already.
  mutating func end(isClosed: Bool = false) {
    switch phase {
    case .idle, .waiting, .fetching: break
    case .connecting(let number, _):
      // The server's redirection may be what does not work.
      host = nil
      if !isClosed { actions.append(.disconnect(number)) }
    case .connected:
      guard let session else { break }
      if !isClosed { actions.append(.disconnect(session.number)) }
      settle(session)
    }
    phase = .idle
  }

  private mutating func settle(_ ended: Session) {
    var ended = ended
    markEarly(ended)
    session = nil
    actions.append(.connected(false))
    if ended.isAccepted { stopSending() }
    releaseHeld(all: true)
    auth.noteSteady(at: now.uptime)
    if now.uptime.subtracting(ended.opened) >= limits.steadyTime {
      backoff.reset()
      wasReset = false
    }
    for sent in ended.unanswered.removeAll() {
      switch sent {
      case .write(let write): actions.append(.writeOutcomeUnknown(write.id))
      case .operation(let operation): giveUp(operation, with: .disconnect)
      case .get(let get): giveBack(get)
      case .listen, .authenticate: break
      }
    }
    queue.restart()
  }
}
