/// The claims that tokens must have besides the user's id: audience, issuer, and expiry.
///
/// One key may sign tokens of many services: Google's signs those of every Firebase project. So a
/// valid signature does not show that a token was meant for this server.
public struct ExpectedClaims: Hashable, Sendable {
  /// The text that `aud` must be or contain; nil for anything.
  public var audience: String?
  /// The text that `iss` must be; nil for anything.
  public var issuer: String?
  /// Whether there must be an `exp`; true by default. A token without one never expires.
  public var requiresExpiry = true

  private init(audience: String?, issuer: String?) {
    self.audience = audience
    self.issuer = issuer
  }

  /// Requires an issuer and an audience.
  public static func issued(by issuer: String, for audience: String) -> ExpectedClaims {
    ExpectedClaims(audience: audience, issuer: issuer)
  }

  /// Requires an audience only: use it when a single issuer has the key.
  public static func issued(for audience: String) -> ExpectedClaims {
    ExpectedClaims(audience: audience, issuer: nil)
  }

  /// Requires an issuer only: use it when the issuer makes tokens only for this server.
  public static func issued(by issuer: String) -> ExpectedClaims {
    ExpectedClaims(audience: nil, issuer: issuer)
  }

  /// Tokens of the users of a Firebase project, by the project's id.
  public static func firebaseProject(_ id: String) -> ExpectedClaims {
    .issued(by: "https://securetoken.google.com/\(id)", for: id)
  }

  /// Accepts all tokens with a valid signature: use it when the key signs only tokens of this
  /// server.
  public static let anything = ExpectedClaims(audience: nil, issuer: nil)
}
