/// The sign-in state of a database, and whether its server accepts the user's token.
public enum AuthState: Sendable, Hashable {
  /// Nobody is signed in; writes are in the lane of nobody.
  case signedOut
  /// The identity that the last token named, before the server was asked: from a run before, or just
  /// given. Its data and its queue are in use.
  case known(identity: String)
  /// The server takes the token.
  case signedIn(identity: String)
  /// The token has expired, the server refused it, or the token provider gave none, as the error's
  /// code says: reads go on from the cache, and writes wait until there is another token.
  case expired(identity: String, DatabaseError)

  /// The identity whose data and queue are in use; empty while nobody is signed in.
  public var identity: String {
    switch self {
    case .signedOut: ""
    case .known(let identity), .signedIn(let identity), .expired(let identity, _): identity
    }
  }

  /// Whether writes wait for another token.
  public var isPaused: Bool {
    if case .expired = self { return true }
    return false
  }
}
