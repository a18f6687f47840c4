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
