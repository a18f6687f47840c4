public import ConiferWire

/// A verifier of the tokens that clients show a server.
public protocol Authenticator: Sendable {
  /// Checks a token; returns quickly, and never logs it.
  ///
  /// - Parameters:
  ///   - credential: the token.
  ///   - now: the server's time in milliseconds since 1970.
  /// - Throws: why the token is not accepted.
  func verify(_ credential: Credential, now: Int64) throws(TokenRefusal) -> VerifiedToken
}

/// The error with which an authenticator refuses a token, with the status that the client gets.
public struct TokenRefusal: Error, Hashable, Sendable {
  /// The status that the client gets: `expiredToken`, `invalidToken`, or another one.
  public var status: Response.Status
  /// The reason in words, without the token.
  public var reason: String

  /// Why a token is not accepted.
  public init(_ status: Response.Status, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  /// The token is not one that the server accepts.
  public static let invalid = TokenRefusal(.invalidToken, "The token is not one of this server's.")
  /// The token has expired.
  public static let expired = TokenRefusal(.expiredToken, "The token has expired.")
}

/// An authenticator that accepts every token as its user's id, without expiry, and `owner` as the
/// administrator: for tests and for servers that nobody else can reach, as the Realtime Database's
/// emulator does.
public struct OpenAuthenticator: Authenticator {
  /// An authenticator that accepts every token.
  public init() {}

  /// Returns the token's text as the `uid`.
  public func verify(
    _ credential: Credential, now: Int64
  ) throws(TokenRefusal) -> VerifiedToken {
    VerifiedToken(uid: credential.token, isAdmin: credential.token == "owner")
  }
}
