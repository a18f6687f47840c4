public import ConiferWire
import Synchronization

/// An authenticator with a list of tokens, which may change while the server runs.
public final class TokenTable: Authenticator {
  private let tokens: Mutex<[Credential: VerifiedToken]>

  /// A list of tokens.
  public init(_ tokens: [String: VerifiedToken] = [:]) {
    self.tokens = Mutex(
      Dictionary(tokens.map { (Credential($0.key), $0.value) }, uniquingKeysWith: { a, _ in a }))
  }

  /// Adds, replaces or removes a token.
  ///
  /// Sessions that already used the token keep their user; see `Server.expireTokens`.
  ///
  /// - Parameters:
  ///   - token: the token's text.
  ///   - verified: the token's content; nil removes it.
  public func set(_ token: String, _ verified: VerifiedToken?) {
    tokens.withLock { $0[Credential(token)] = verified }
  }

  /// Looks a token up.
  ///
  /// - Throws: `invalidToken` for a token that is not in the list, `expiredToken` for one that has
  ///   expired.
  public func verify(
    _ credential: Credential, now: Int64
  ) throws(TokenRefusal) -> VerifiedToken {
    guard let verified = tokens.withLock({ $0[credential] }) else { throw TokenRefusal.invalid }
    if let expires = verified.expires, expires <= now { throw TokenRefusal.expired }
    return verified
  }
}
