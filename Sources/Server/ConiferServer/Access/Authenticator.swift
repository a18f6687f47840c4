public import ConiferWire

/// What tells the server who a token's bearer is.
public protocol Authenticator: Sendable {
  /// Checks a token; returns quickly, and never logs it.
  ///
  /// - Parameters:
  ///   - credential: the token.
  ///   - now: the server's time in milliseconds since 1970.
  /// - Throws: why the token is not taken.
  func verify(_ credential: Credential, now: Int64) throws(TokenRefusal) -> VerifiedToken
}

/// Why a token is not taken.
public struct TokenRefusal: Error, Hashable, Sendable {
  /// What the client is answered: `expiredToken`, `invalidToken`, or another status.
  public var status: Response.Status
  /// The reason in words, without the token.
  public var reason: String

  /// Why a token is not taken.
  public init(_ status: Response.Status, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  /// The token is none that the server takes.
  public static let invalid = TokenRefusal(.invalidToken, "The token is not one of this server's.")
  /// The token's time is over.
  public static let expired = TokenRefusal(.expiredToken, "The token has expired.")
}

/// Takes every token for its bearer's name, for ever, and `owner` for the administrator's: for tests
/// and for servers that nobody else can reach, as the Realtime Database's emulator does.
public struct OpenAuthenticator: Authenticator {
  /// An authenticator that takes every token.
  public init() {}

  /// Takes the token's text for the `uid`.
  public func verify(
    _ credential: Credential, now: Int64
  ) throws(TokenRefusal) -> VerifiedToken {
    VerifiedToken(uid: credential.token, isAdmin: credential.token == "owner")
  }
}
