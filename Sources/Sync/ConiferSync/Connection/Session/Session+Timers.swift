import ConiferWire

extension Session {
  /// Does what is due.
  mutating func tick(_ client: inout ClientState) {
    let (time, limits) = (client.now.uptime, client.limits)
    if let due = probeTime(limits), due <= time {
      probe = .asked(time)
      client.actions.append(.probe(number))
    }
    if lastSent.adding(limits.keepAliveInterval) <= time {
      lastSent = time
      client.actions.append(.send(.keepAlive))
    }
    if let expiry = client.auth.expiry, expiry <= time { expireToken(&client) }
    if let due = client.auth.fetchAt, due <= time { client.fetchToken(isConnected: true) }
    if let retry = client.sendBuffer.markingRetry, retry <= time {
      client.sendBuffer.markAgain()
      sendWaiting(&client)
    }
  }

  /// When the server is asked for a sign of life: it owes an answer, and nothing came for some time.
  func probeTime(_ limits: ConnectionLimits) -> Milliseconds? {
    guard case .none = probe, let oldest = unanswered.oldest else { return nil }
    return max(oldest, lastReceived).adding(limits.idleBeforeProbe)
  }

  /// When a connection whose server does not answer is given up.
  ///
  /// What was sent last may still be on its way through a slow line, with the question behind it. A
  /// server that lives may take its time, but not for ever: a single answer that never comes ends the
  /// connection as well.
  func silenceDeadline(_ limits: ConnectionLimits) -> Milliseconds? {
    guard let oldest = unanswered.oldest else { return nil }
    let sending = Milliseconds(unanswered.windowBytes / 4)
    var patience = limits.responseTimeout.adding(sending)
    if unanswered.readingCount > 0 { patience = patience.adding(limits.readAllowance) }
    let last = oldest.adding(patience > .max / 10 ? .max : patience * 10)
    switch probe {
    case .none: return last
    case .asked(let time): return min(last, time.adding(limits.probeTimeout).adding(sending))
    case .impossible: return min(last, max(oldest, lastReceived).adding(patience))
    }
  }
}
