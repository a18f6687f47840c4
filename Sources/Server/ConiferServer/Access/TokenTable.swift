public import ConiferWire
import Synchronization

/// An authenticator that knows a list of tokens, which may change while the server runs.
public final class TokenTable: Authenticator {
  private let tokens: Mutex<[Credential: VerifiedToken]>

  /// A list of tokens.
  public init(_ tokens: [String: VerifiedToken] = [:]) {
    self.tokens = Mutex(
      Dictionary(tokens.map { (Credential($0.key), $0.value) }, uniquingKeysWith: { a, _ in a }))
  }

  /// Takes a token from now on, or no longer.
  ///
  /// Clients that gave it stay who they are; see `Server.expireTokens`.
  ///
  /// - Parameters:
  ///   - token: the token's text.
  ///   - verified: what it says; nil when it is not taken.
  public func set(_ token: String, _ verified: VerifiedToken?) {
    tokens.withLock { $0[Credential(token)] = verified }
  }

  /// Looks a token up.
  ///
  /// - Throws: `invalidToken` for one that is not in the list, `expiredToken` for one whose time is
  ///   over.
  public func verify(
    _ credential: Credential, now: Int64
  ) throws(TokenRefusal) -> VerifiedToken {
    guard let verified = tokens.withLock({ $0[credential] }) else { throw TokenRefusal.invalid }
    if let expires = verified.expires, expires <= now { throw TokenRefusal.expired }
    return verified
  }
}
