import ConiferWire

extension ConnectionMachine {
  /// Does what is due.
  mutating func tick() {
    let time = client.now.uptime
    if let deadline = client.auth.answerDeadline, deadline <= time {
      tokenFailed("It did not answer in time.", isTimeout: true)
      readAgain()
    }
    if let retry = client.auth.userRetry, retry <= time {
      client.fetchToken(isConnected: isConnected)
    }
    if let deadline = connectionDeadline, deadline <= time { return connectionTimedOut() }
    whileConnected { session, client in session.tick(&client) }
  }

  /// When the present state ends by itself.
  private var connectionDeadline: Milliseconds? {
    switch state {
    case .closed, .fetchingToken: nil
    case .waiting(let until): until
    case .connecting(_, let since): since.adding(client.limits.connectTimeout)
    case .connected(let session): session.silenceDeadline(client.limits)
    }
  }

  private mutating func connectionTimedOut() {
    switch state {
    case .closed, .fetchingToken: return
    case .waiting: return attempt()
    case .connecting: client.log("The server did not say hello in time.")
    case .connected: client.log("The server does not answer.")
    }
    endConnection()
    connectLater()
  }

  /// The next uptime at which something is due.
  var deadline: Milliseconds? {
    var all = [
      getDeadline, client.auth.userRetry, client.auth.answerDeadline, connectionDeadline,
    ]
    if case .connected(let session) = state {
      all += [
        session.lastSent.adding(client.limits.keepAliveInterval), session.probeTime(client.limits),
        client.auth.expiry, client.auth.fetchAt, client.sendBuffer.markingRetry,
      ]
    }
    return all.compactMap(\.self).min()
  }

  /// Whether the server knows who reads.
  private var canRead: Bool { isWritable && !client.auth.isChanging }

  /// Ends reads that waited too long; all while the app is away, as nothing can come.
  mutating func expireGets() {
    guard !canRead else { return }
    var isAway = false
    if case .closed(let reasons) = state {
      isAway = reasons.contains(.offline) || reasons.contains(.shutdown)
    }
    let ended =
      isAway
      ? client.gets.removeAll()
      : client.gets.removeExpired(at: client.now.uptime, client.limits.getTimeout)
    for id in ended { client.actions.append(.getUnavailable(id)) }
  }

  /// When the oldest waiting read gives up; nil while reads can be sent.
  var getDeadline: Milliseconds? { canRead ? nil : client.gets.deadline(client.limits.getTimeout) }
}
