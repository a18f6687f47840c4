import ConiferStorage
import ConiferWire

extension ConnectionMachine {
  /// Takes in what the token provider said, asked or unasked.
  mutating func take(_ answer: TokenAnswer, _ fetch: UInt64?) {
    guard client.auth.isCurrent(answer, to: fetch) else { return }
    client.auth.noteAnswer(answer, to: fetch)
    switch answer {
    case .token(let token): signIn(token)
    case .signedOut: signIn(nil)
    case .failed(let reason): tokenFailed(reason)
    }
    readAgain()
  }

  /// Takes in who is signed in; nil for nobody.
  private mutating func signIn(_ token: UserToken?) {
    let isSame = token == client.auth.token
    client.auth.take(token, at: client.now, offset: client.offset)
    let lane = Lane(tree: lane.tree, identity: token?.identity ?? "")
    if lane != self.lane {
      whileConnected { session, client in session.leaveLane(&client) }
      client.change(to: lane)
    } else if token == nil {
      client.actions.append(.keepToken(nil))
    }
    switch state {
    case .closed, .connecting: break
    // What kept the client away may have been the user; the distance after refusals stays.
    case .waiting: if !client.auth.isSlowed { connect() }
    case .fetchingToken: connect()
    case .connected:
      whileConnected { session, client in
        if !(isSame && session.isAccepted) { session.authenticate(token, &client) }
      }
    }
  }

  /// Sends what waited to know who is signed in.
  mutating func readAgain() { whileConnected { session, client in session.readAgain(&client) } }

  /// The token provider failed, or did not answer in time.
  mutating func tokenFailed(_ reason: String, isTimeout: Bool = false) {
    var isBlocking = false
    switch state {
    case .fetchingToken:
      isBlocking = !client.auth.canUseLast(at: client.now, offset: client.offset)
    // It was asked without a connection, since the first writes wait to know their user.
    case .closed: isBlocking = isTimeout && client.auth.token == nil
    case .waiting, .connecting, .connected: break
    }
    let delay = max(client.limits.delays.first, client.backoff.delay(client.auth.requests.failures))
    let retry = client.now.uptime.adding(delay)
    client.auth.fetchFailed(reason, retry: retry, isBlocking: isBlocking)
    client.log("The token provider failed: \(reason)")
    guard case .fetchingToken = state else { return }
    if isBlocking {
      connectLater()
    } else {
      connect()
    }
  }
}
