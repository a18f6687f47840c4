import ConiferWire

extension Session {
  /// Takes in the answer to a shown token.
  mutating func authenticationAnswered(
    _ number: UInt64, _ token: UserToken?, _ response: Response, _ client: inout ClientState
  ) {
    guard pipeline.tokenAnswered(number) else { return }
    guard response.status == .ok || token == nil else {
      return refuse(response.status, response.reason ?? response.status.rawValue, &client)
    }
    client.auth.tokenAccepted(at: client.now.uptime)
    if let token { client.actions.append(.keepToken(token)) }
    if !pipeline.isAccepted { pipeline.accept(&client) }
  }

  /// The server does not take the token, or no longer does: all but the connection waits.
  private mutating func refuse(
    _ status: Response.Status, _ reason: String, _ client: inout ClientState
  ) {
    pipeline.stop(.tokenInvalid, &client)
    let delay = client.backoff.takeDelay(0)
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
    if pipeline.isShowingToken {
      pipeline.stop(.tokenInvalid, &client)
    } else {
      refuse(status, reason, &client)
    }
  }

  /// The token has expired, as far as the client knows.
  mutating func expireToken(_ client: inout ClientState) {
    client.auth.tokenExpired(at: client.now.uptime)
    if pipeline.isAccepted { pipeline.stop(.tokenInvalid, &client) }
  }

  /// Takes note when the answer to a request says that the token is not taken, or no longer.
  mutating func noteTokenRefusal(_ response: Response, _ client: inout ClientState) {
    guard client.auth.token != nil, pipeline.isShowingToken || pipeline.isAccepted else { return }
    switch response.status {
    case .expiredToken, .invalidToken:
      tokenRevoked(response.status, response.reason ?? response.status.rawValue, &client)
    default: break
    }
  }

  /// Shows the server the app's token, if there is one.
  mutating func showAppToken(_ client: inout ClientState) {
    guard let token = client.appCheck.token else { return }
    pipeline.send(.appCheck(token.credential.token), .appCheck(token), &client)
  }

  /// Takes in the answer to a token of the app; of one that was replaced meanwhile it says nothing.
  mutating func appTokenAnswered(
    _ token: AppToken, _ response: Response, _ client: inout ClientState
  ) {
    guard token == client.appCheck.token else { return }
    if response.status == .ok {
      client.appCheck.accepted(at: client.now.uptime)
    } else {
      client.appTokenRefused(response.status, response.reason ?? response.status.rawValue)
    }
  }

  /// Another user is signed in: nothing goes out until the server knows that one.
  mutating func leaveLane(_ client: inout ClientState) {
    // This comes first, so that a transaction that an answer releases is not issued as the new
    // user's.
    if pipeline.isAccepted { pipeline.stop(.unknown, &client) }
    pipeline.deliverAllAnswers(&client)
  }
}
