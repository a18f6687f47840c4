/// Whether it is known whose is what the app asks for.
public enum Identification: Hashable, Sendable {
  /// It is the user's whose lane is shown.
  case known
  /// The token provider is being asked: what depends on the user waits.
  case asked
  /// The provider gives no answer, and is asked again: what the app reads goes on as the user before,
  /// what it writes waits.
  case unanswered
}

/// Whether writes go out, as far as the user's token decides it; to be shown to the app.
public enum AuthState: Hashable, Sendable {
  /// Nobody is signed in: writes go out, as nobody's.
  case signedOut
  /// Somebody is signed in, and the server has not taken the token on this connection yet, or there
  /// is no connection.
  case pending
  /// The server has taken the token.
  case authenticated
  /// The token's time is over: writes and new listens wait for a new token.
  case expired(String)
  /// The server does not take the token: writes and new listens wait for another one.
  case refused(String)
  /// The app's token provider gives none: there is no connection until it does.
  case unavailable(String)

  /// Whether writes wait for a token.
  public var isPaused: Bool {
    switch self {
    case .signedOut, .pending, .authenticated: return false
    case .expired, .refused, .unavailable: return true
    }
  }
}
