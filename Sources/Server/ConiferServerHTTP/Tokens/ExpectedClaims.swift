/// What tokens must claim beside their bearer's name: whom they are for, who issued them, and until
/// when.
///
/// A key may sign tokens of many services: Google's signs those of every Firebase project. So a
/// signature alone does not say that a token was meant for this server.
public struct ExpectedClaims: Hashable, Sendable {
  /// What `aud` is, or has among others; nil for anything.
  public var audience: String?
  /// What `iss` is; nil for anything.
  public var issuer: String?
  /// Whether there must be an `exp`; true at first. Without one a token never ends.
  public var requiresExpiry = true

  private init(audience: String?, issuer: String?) {
    self.audience = audience
    self.issuer = issuer
  }

  /// Tokens that an issuer made for an audience.
  public static func issued(by issuer: String, for audience: String) -> ExpectedClaims {
    ExpectedClaims(audience: audience, issuer: issuer)
  }

  /// Tokens that anybody made for an audience: where one issuer alone has the key.
  public static func issued(for audience: String) -> ExpectedClaims {
    ExpectedClaims(audience: audience, issuer: nil)
  }

  /// Tokens that an issuer made for anybody: where the issuer makes them for this server alone.
  public static func issued(by issuer: String) -> ExpectedClaims {
    ExpectedClaims(audience: nil, issuer: issuer)
  }

  /// Tokens of the users of a Firebase project, by the project's id.
  public static func firebaseProject(_ id: String) -> ExpectedClaims {
    .issued(by: "https://securetoken.google.com/\(id)", for: id)
  }

  /// All tokens with a good signature: where the key signs tokens of this server and nothing else.
  public static let anything = ExpectedClaims(audience: nil, issuer: nil)
}
