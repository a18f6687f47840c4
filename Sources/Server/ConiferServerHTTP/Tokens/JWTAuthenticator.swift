#if Network
  public import ConiferServer
  import ConiferTree
  public import ConiferWire
  import Foundation
  import JWTKit

  /// Takes JSON Web Tokens (RFC 7519): signed with HS256 or RS256 when it was given keys, and without
  /// looking at signatures when it was given none, as local emulators do.
  ///
  /// The bearer's `uid` is the claim `sub`, `user_id` or `uid`; all claims are `auth.token` of rules.
  /// `exp`, `iat` and `nbf` hold, in seconds since 1970 by the server's clock. The text `owner` is the
  /// administrator's token, if there is to be one.
  public struct JWTAuthenticator: Authenticator {
    /// How much later than ours a clock that signs tokens may be, in milliseconds.
    private static let leeway: Int64 = 60_000

    /// Before this moment in 2001 (a billion seconds since 1970) nobody issued tokens.
    private static let firstTime: Int64 = 1_000_000_000_000

    private let algorithms: [String: any JWTAlgorithm]
    private let allowsUnsigned: Bool
    private let allowsOwner: Bool

    /// An authenticator of JSON Web Tokens.
    ///
    /// - Parameters:
    ///   - secret: what HS256 signatures are checked with; nil when none is taken.
    ///   - publicKey: what RS256 signatures are checked with, a public key or a certificate in PEM;
    ///     nil when none is taken.
    ///   - allowsUnsigned: whether tokens with the algorithm `none` are taken; by default when there
    ///     are no keys. Without keys, signatures are not looked at then.
    ///   - allowsOwner: whether `owner` is the administrator's token; by default when there are no keys.
    /// - Throws: `JWTKeyError` when a key is none.
    public init(
      secret: [UInt8]? = nil, publicKey: String? = nil, allowsUnsigned: Bool? = nil,
      allowsOwner: Bool? = nil
    ) async throws(JWTKeyError) {
      var algorithms: [String: any JWTAlgorithm] = [:]
      let keys = JWTKeyCollection()
      if let secret {
        guard !secret.isEmpty else { throw JWTKeyError("The secret is empty.") }
        // HMAC fills a short key up with zeros itself (RFC 2104); JWTKit wants it to be long.
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
      self.allowsUnsigned = allowsUnsigned ?? algorithms.isEmpty
      self.allowsOwner = allowsOwner ?? algorithms.isEmpty
    }

    private static func key(_ pem: String) throws(JWTKeyError) -> Insecure.RSA.PublicKey {
      do {
        if pem.contains("BEGIN CERTIFICATE") {
          return try Insecure.RSA.PublicKey(certificatePEM: pem)
        }
        return try Insecure.RSA.PublicKey(pem: pem)
      } catch {
        throw JWTKeyError("The public key is no RSA key in PEM of 2048 bits or more: \(error)")
      }
    }

    /// Checks a token.
    ///
    /// - Throws: `invalidToken` for one that is not taken, `expiredToken` for one whose time is over.
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
      if algorithms.isEmpty, allowsUnsigned { return }
      guard let algorithm = algorithms[token.algorithm],
        (try? algorithm.verify(token.signature, signs: token.signed)) == true
      else { throw TokenRefusal.invalid }
    }

    private func verified(_ token: JSONWebToken, now: Int64) throws(TokenRefusal) -> VerifiedToken {
      let claims = token.claims
      // Unsigned tokens that clients make up for tests say that they were issued in 1970, or soon
      // after, and that they lasted an hour; such times mean none.
      let isMock =
        token.algorithm == "none"
        && Self.time(claims["iat" as Key]).map { $0 < Self.firstTime } ?? false
      let expires = isMock ? nil : Self.time(claims["exp" as Key])
      if let expires, expires <= now { throw TokenRefusal.expired }
      for name in ["iat", "nbf"] {
        if let time = Self.time(claims[Key(name)]), time > now.saturatingAdd(Self.leeway) {
          throw TokenRefusal(.invalidToken, "The token is of a time to come.")
        }
      }
      for name in ["sub", "user_id", "uid"] {
        if case .string(let uid)? = claims[Key(name)].leaf, !uid.isEmpty {
          return VerifiedToken(uid: uid, claims: claims, expires: expires)
        }
      }
      throw TokenRefusal(.invalidToken, "The token names nobody: it has no sub, user_id or uid.")
    }

    /// Milliseconds of a claim in seconds, which may have a fraction.
    private static func time(_ node: Node) -> Int64? {
      guard let seconds = node.leaf?.number else { return nil }
      return Int64(exactly: (seconds * 1000).rounded()) ?? (seconds < 0 ? .min : .max)
    }
  }

  /// Why a key cannot be used; without the key.
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
