public import ConiferWire

/// A token, whose it is, and until when it is taken.
///
/// Its description never shows the token.
public struct AuthToken: Hashable, Sendable, CustomStringConvertible {
  /// What the server is shown.
  public let credential: Credential
  /// Whose it is, for example a user id; never empty. It names the lane of that user's writes.
  public let identity: String
  /// When the server will no longer take it, in milliseconds since 1970; nil when that is unknown.
  public let expiry: Int64?

  /// A token.
  ///
  /// - Parameters:
  ///   - credential: what the server is shown.
  ///   - identity: whose it is; not empty.
  ///   - expiry: in milliseconds since 1970; nil when that is unknown.
  public init(_ credential: Credential, identity: String, expiry: Int64? = nil) {
    self.credential = credential
    self.identity = identity
    self.expiry = expiry
  }

  /// The identity and the expiry.
  public var description: String {
    "AuthToken(of \(identity), until \(expiry.map { String($0) } ?? "unknown"))"
  }
}

/// What the app's token provider says.
public enum TokenAnswer: Hashable, Sendable {
  /// Somebody is signed in.
  case token(AuthToken)
  /// Nobody is signed in.
  case signedOut
  /// It cannot tell now, for example because its own server is out of reach; with the reason.
  case failed(String)
}
