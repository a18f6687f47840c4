/// Whether it is known who is signed in.
public enum Identification: Hashable, Sendable {
  /// It is the user whose lane is shown, or nobody.
  case known
  /// The app has just started, and the token provider is asked: what depends on the user waits. Should
  /// the provider fail it is nobody.
  case starting
  /// Perhaps somebody else since the app said so: what depends on the user waits for an answer.
  case changing
  /// Perhaps somebody else, and the provider failed, for this reason; it is asked again at an uptime. What
  /// the app reads goes on as the user before, what it writes waits.
  case unanswered(String, retry: Milliseconds)

  /// Whether the token provider is asked, and what depends on the user waits.
  public var isAsked: Bool { self == .starting || self == .changing }
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
