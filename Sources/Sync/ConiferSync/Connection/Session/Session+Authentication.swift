import ConiferWire

extension Session {
  /// Shows the server a token, or that nobody is signed in.
  mutating func authenticate(_ token: UserToken?, _ client: inout ClientState) {
    let request: Request = token.map { .authenticate($0.credential) } ?? .unauthenticate
    authRequest = send(request, .authenticate(token), &client)
  }

  /// Takes in the answer to a shown token.
  mutating func authenticationAnswered(
    _ number: UInt64, _ token: UserToken?, _ response: Response, _ client: inout ClientState
  ) {
    guard authRequest == number else { return }
    authRequest = nil
    guard response.status == .ok || token == nil else {
      return refuse(response.status, response.reason ?? response.status.rawValue, &client)
    }
    client.auth.tokenAccepted(at: client.now.uptime)
    if let token { client.actions.append(.keepToken(token)) }
    if !isAccepted { accept(&client) }
  }

  /// The server knows who the client is: all that waited goes on.
  mutating func accept(_ client: inout ClientState) {
    tokenState = .accepted
    reportOtherLanes(&client)
    sendListens(&client)
    sendGets(&client)
    client.sendBuffer.restart()
    client.actions.append(.writable(true))
    askForWrites(&client)
  }

  /// The server does not take the token, or no longer does: all but the connection waits.
  private mutating func refuse(
    _ status: Response.Status, _ reason: String, _ client: inout ClientState
  ) {
    pause(&client)
    let delay = client.backoff.delay(0)
    client.auth.tokenRefused(status, reason, at: client.now.uptime, delay: delay)
    client.log("The server does not take the token: \(status) \(reason)")
    if let due = client.auth.fetchAt, due <= client.now.uptime {
      client.fetchToken(isConnected: true)
    }
  }

  /// The server no longer takes a token; when a newer one is being shown, its answer decides.
  mutating func tokenRevoked(
    _ status: Response.Status, _ reason: String, _ client: inout ClientState
  ) {
    if authRequest == nil {
      refuse(status, reason, &client)
    } else {
      pause(&client)
    }
  }

  /// The token has expired, as far as the client knows.
  mutating func expireToken(_ client: inout ClientState) {
    client.auth.tokenExpired(at: client.now.uptime)
    if isAccepted { pause(&client) }
  }

  /// Lets everything wait for a token.
  private mutating func pause(_ client: inout ClientState) {
    let wasAccepted = isAccepted
    tokenState = .refused
    if wasAccepted { stopSending(&client) }
  }

  /// Whether a refusal says no more than that the token is not taken, so that the request counts as not sent.
  func isDueToToken(_ response: Response, _ auth: AuthMachine) -> Bool {
    guard auth.token != nil else { return false }
    return switch response.status {
    case .expiredToken, .invalidToken: true
    case .permissionDenied: isRefused
    default: false
    }
  }

  /// Takes note when the answer to a request says that the token is not taken, or no longer.
  mutating func noteTokenRefusal(_ response: Response, _ client: inout ClientState) {
    guard client.auth.token != nil, authRequest != nil || isAccepted else { return }
    switch response.status {
    case .expiredToken, .invalidToken:
      tokenRevoked(response.status, response.reason ?? response.status.rawValue, &client)
    default: break
    }
  }

  /// Another user is signed in: nothing goes out until the server knows that one.
  mutating func leaveLane(_ client: inout ClientState) {
    // First, so that no transaction that an answer lets go is issued as the new user's.
    if isAccepted {
      tokenState = .unknown
      stopSending(&client)
    }
    deliverAnswers(all: true, &client)
  }
}
