#if Network
  public import ConiferServer
  import ConiferTree
  public import ConiferWire
  import Foundation
  import JWTKit

  /// An authenticator that accepts JSON Web Tokens (RFC 7519) that are signed with HS256 or RS256
  /// and have the expected claims; `emulator()` accepts all.
  ///
  /// The user's `uid` is the claim `sub`, `user_id` or `uid`; `auth.token` of rules is all claims.
  /// `exp`, `iat` and `nbf` are checked, in seconds since 1970 by the server's clock; one that is
  /// not a number is refused.
  public struct JWTAuthenticator: Authenticator {
    /// How far a signer's clock may be ahead of this one, in milliseconds.
    private static let leeway: Int64 = 60_000

    /// A time in 2001 (a billion seconds since 1970), before which no real token was issued.
    private static let firstTime: Int64 = 1_000_000_000_000

    private let algorithms: [String: any JWTAlgorithm]
    private let expected: ExpectedClaims
    private let allowsUnsigned: Bool
    private let allowsOwner: Bool

    private init(emulating expected: ExpectedClaims) {
      algorithms = [:]
      self.expected = expected
      allowsUnsigned = true
      allowsOwner = true
    }

    /// An authenticator that accepts every token without checking its signature, and `owner` as the
    /// administrator, as local emulators do: for tests, and for servers that nobody else can reach.
    public static func emulator() -> JWTAuthenticator {
      var expected = ExpectedClaims.anything
      expected.requiresExpiry = false
      return JWTAuthenticator(emulating: expected)
    }

    /// An authenticator of signed tokens.
    ///
    /// - Parameters:
    ///   - secret: the key of HS256 signatures; nil to refuse them.
    ///   - publicKey: the key of RS256 signatures, a public key or a certificate in PEM; nil to
    ///     refuse them.
    ///   - expected: the expected audience and issuer.
    ///   - allowsUnsigned: whether tokens with the algorithm `none` are accepted too.
    ///   - allowsOwner: whether `owner` is the administrator's token.
    /// - Throws: `JWTKeyError` when there is no key, or a key is invalid.
    public init(
      secret: [UInt8]? = nil, publicKey: String? = nil, expecting expected: ExpectedClaims,
      allowsUnsigned: Bool = false, allowsOwner: Bool = false
    ) async throws(JWTKeyError) {
      guard secret != nil || publicKey != nil else {
        throw JWTKeyError("There is no key. Give a secret or a public key.")
      }
      var algorithms: [String: any JWTAlgorithm] = [:]
      let keys = JWTKeyCollection()
      if let secret {
        guard !secret.isEmpty else { throw JWTKeyError("The secret is empty.") }
        // HMAC pads a short key with zeros (RFC 2104); JWTKit requires a long key.
        let padding = [UInt8](repeating: 0, count: max(0, 32 - secret.count))
        await keys.add(
          hmac: HMACKey(from: secret + padding), digestAlgorithm: .sha256, kid: "HS256")
      }
      if let publicKey {
        await keys.add(rsa: try Self.key(publicKey), digestAlgorithm: .sha256, kid: "RS256")
      }
      for (name, isThere) in [("HS256", secret != nil), ("RS256", publicKey != nil)] where isThere {
        do {
          algorithms[name] = try await keys.getKey(for: JWKIdentifier(string: name))
        } catch {
          throw JWTKeyError("The key for \(name) cannot be used: \(error)")
        }
      }
      self.algorithms = algorithms
      self.expected = expected
      self.allowsUnsigned = allowsUnsigned
      self.allowsOwner = allowsOwner
    }

    private static func key(_ pem: String) throws(JWTKeyError) -> Insecure.RSA.PublicKey {
      do {
        if pem.contains("BEGIN CERTIFICATE") {
          return try Insecure.RSA.PublicKey(certificatePEM: pem)
        }
        return try Insecure.RSA.PublicKey(pem: pem)
      } catch {
        throw JWTKeyError("The public key must be an RSA key in PEM of 2048 bits or more: \(error)")
      }
    }

    /// Checks a token.
    ///
    /// - Throws: `invalidToken` for a token that is not accepted, `expiredToken` for an expired
    ///   one.
    public func verify(
      _ credential: Credential, now: Int64
    ) throws(TokenRefusal) -> VerifiedToken {
      if allowsOwner, credential.token == "owner" {
        return VerifiedToken(uid: "owner", isAdmin: true)
      }
      guard let token = JSONWebToken(credential.token) else { throw TokenRefusal.invalid }
      try checkSignature(token)
      return try verified(token, now: now)
    }

    private func checkSignature(_ token: JSONWebToken) throws(TokenRefusal) {
      if token.algorithm == "none" {
        guard allowsUnsigned, token.signature.isEmpty else { throw TokenRefusal.invalid }
        return
      }
      // An emulator has no keys.
      if algorithms.isEmpty { return }
      guard let algorithm = algorithms[token.algorithm],
        (try? algorithm.verify(token.signature, signs: token.signed)) == true
      else { throw TokenRefusal.invalid }
    }

    private func verified(_ token: JSONWebToken, now: Int64) throws(TokenRefusal) -> VerifiedToken {
      let claims = token.claims
      try checkParties(claims)
      var times: [String: Int64] = [:]
      for name in ["exp", "iat", "nbf"] where token.names.contains(name) {
        guard let time = Self.time(claims[Key(name)]) else {
          throw TokenRefusal(.invalidToken, "The token's \(name) is not a number.")
        }
        times[name] = time
      }
      if expected.requiresExpiry, times["exp"] == nil {
        throw TokenRefusal(.invalidToken, "The token has no exp, so it would never expire.")
      }
      // Unsigned tokens that clients make up for tests say that they were issued in 1970 or soon
      // after, for an hour; such times are ignored.
      let isMock = token.algorithm == "none" && times["iat"].map { $0 < Self.firstTime } ?? false
      let expires = isMock ? nil : times["exp"]
      if let expires, expires <= now { throw TokenRefusal.expired }
      for name in ["iat", "nbf"] {
        if let time = times[name], time > now.saturatingAdd(Self.leeway) {
          throw TokenRefusal(.invalidToken, "The token is not valid yet.")
        }
      }
      for name in ["sub", "user_id", "uid"] {
        if case .string(let uid)? = claims[Key(name)].leaf, !uid.isEmpty {
          return VerifiedToken(uid: uid, claims: claims, expires: expires)
        }
      }
      throw TokenRefusal(.invalidToken, "The token names nobody: it has no sub, user_id or uid.")
    }

    /// Checks a token's audience and issuer.
    private func checkParties(_ claims: Node) throws(TokenRefusal) {
      func isText(_ node: Node, _ text: String) -> Bool {
        if case .string(let claimed)? = node.leaf {
          claimed.utf8.elementsEqual(text.utf8)
        } else {
          false
        }
      }
      if let issuer = expected.issuer, !isText(claims["iss" as Key], issuer) {
        throw TokenRefusal(.invalidToken, "The token has another issuer.")
      }
      if let audience = expected.audience {
        // One audience, or several in an array.
        let claimed = claims["aud" as Key]
        guard
          isText(claimed, audience)
            || claimed.children.contains(where: { isText($0.node, audience) })
        else { throw TokenRefusal(.invalidToken, "The token has another audience.") }
      }
    }

    /// Milliseconds of a claim in seconds, which may have a fraction.
    private static func time(_ node: Node) -> Int64? {
      guard let seconds = node.leaf?.number else { return nil }
      return Int64(exactly: (seconds * 1000).rounded()) ?? (seconds < 0 ? .min : .max)
    }
  }

  /// The error of a key that cannot be used; its message does not contain the key.
  public struct JWTKeyError: Error, CustomStringConvertible {
    /// What is wrong.
    public let message: String

    init(_ message: String) { self.message = message }

    /// What is wrong.
    public var description: String { message }
  }

  extension Int64 {
    fileprivate func saturatingAdd(_ other: Int64) -> Int64 {
      let (sum, overflow) = addingReportingOverflow(other)
      return overflow ? .max : sum
    }
  }
#endif
