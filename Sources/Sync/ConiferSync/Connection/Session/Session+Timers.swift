import ConiferWire

extension Session {
  /// Does what is due.
  mutating func tick(_ client: inout ClientState) {
    let (time, limits) = (client.now.uptime, client.limits)
    if let due = liveness.probeTime(unanswered, limits), due <= time {
      liveness.probed(at: time)
      client.actions.append(.probe(number))
    }
    if liveness.keepAliveTime(limits) <= time {
      liveness.sent(at: time)
      client.actions.append(.send(.keepAlive))
    }
    if let expiry = client.auth.expiry, expiry <= time { expireToken(&client) }
    if let due = client.auth.fetchAt, due <= time { client.fetchToken(isConnected: true) }
    if let retry = client.sendBuffer.markingRetry, retry <= time {
      client.sendBuffer.markAgain()
      sendWaiting(&client)
    }
  }

  /// When `tick` has something to do.
  func nextTick(_ client: ClientState) -> Milliseconds? {
    let all = [
      liveness.keepAliveTime(client.limits), liveness.probeTime(unanswered, client.limits),
      client.auth.expiry, client.auth.fetchAt, client.sendBuffer.markingRetry,
    ]
    return all.compactMap(\.self).min()
  }

  /// When the connection is given up as its server does not answer.
  func answerDeadline(_ limits: ConnectionLimits) -> Milliseconds? {
    liveness.answerDeadline(unanswered, limits)
  }
}
