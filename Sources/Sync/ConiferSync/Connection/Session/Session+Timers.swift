import ConiferWire

extension Session {
  /// What is done by itself at a time, in the order in which it is looked at.
  private enum Timer: CaseIterable {
    case probe
    case keepAlive
    case tokenExpiry
    case tokenFetch
    case appTokenExpiry
    case appTokenFetch
    case markingRetry
  }

  private func time(of timer: Timer, _ client: ClientState) -> Milliseconds? {
    switch timer {
    case .probe: pipeline.liveness.probeTime(pipeline.requests, client.limits)
    case .keepAlive: pipeline.liveness.keepAliveTime(client.limits)
    case .tokenExpiry: client.auth.expiry
    case .tokenFetch: client.auth.fetchAt
    case .appTokenExpiry: client.appCheck.expiry
    case .appTokenFetch: client.appCheck.fetchAt
    case .markingRetry: client.sendBuffer.markingRetry
    }
  }

  private mutating func fire(_ timer: Timer, _ client: inout ClientState) {
    switch timer {
    case .probe:
      pipeline.liveness.probed(at: client.now.uptime)
      client.actions.append(.probe(number))
    case .keepAlive:
      pipeline.liveness.sent(at: client.now.uptime)
      client.actions.append(.send(.keepAlive))
    case .tokenExpiry: expireToken(&client)
    case .tokenFetch: client.fetchToken(isConnected: true)
    case .appTokenExpiry: client.appCheck.expired(at: client.now.uptime)
    case .appTokenFetch: client.fetchAppToken(isForced: client.appCheck.token != nil)
    case .markingRetry:
      client.sendBuffer.markAgain()
      pipeline.sendWaiting(&client)
    }
  }

  /// Does what is due.
  mutating func tick(_ client: inout ClientState) {
    for timer in Timer.allCases {
      if let due = time(of: timer, client), due <= client.now.uptime { fire(timer, &client) }
    }
  }

  /// When `tick` has something to do.
  func nextTick(_ client: ClientState) -> Milliseconds? {
    Timer.allCases.compactMap { time(of: $0, client) }.min()
  }

  /// When the connection is given up as its server does not answer.
  func answerDeadline(_ limits: ConnectionLimits) -> Milliseconds? {
    pipeline.liveness.answerDeadline(pipeline.requests, limits)
  }
}
