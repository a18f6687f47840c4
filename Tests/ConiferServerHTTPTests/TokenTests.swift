#if Network
  import ConiferQuery
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWire
  import JWTKit
  import Testing

  /// JSON Web Tokens.
  struct TokenTests {
    /// The claims of a token, as JWTKit signs them.
    struct Claims: JWTPayload {
      var sub: String? = "alice"
      var user_id: String?
      var exp: Int?
      var iat: Int?
      var role: String? = "editor"

      func verify(using algorithm: some JWTAlgorithm) {}
    }

    private static var endless: ExpectedClaims {
      var expected = ExpectedClaims.anything
      expected.requiresExpiry = false
      return expected
    }

    private static let now: Int64 = 1_795_196_710_149
    private static let seconds = 1_795_196_710

    private static func refusal(
      _ authenticator: JWTAuthenticator, _ token: String, now: Int64 = Self.now
    ) -> Response.Status? {
      do throws(TokenRefusal) {
        _ = try authenticator.verify(Credential(token), now: now)
        return nil
      } catch {
        return error.status
      }
    }

    private static func unsigned(_ claims: Claims) async throws -> String {
      let keys = JWTKeyCollection()
      await keys.addUnsecuredNone()
      return try await keys.sign(claims)
    }

    @Test("Without keys, unsigned and signed tokens are taken, and owner is the administrator")
    func open() async throws {
      let authenticator = JWTAuthenticator.emulator()
      let token = try await Self.unsigned(Claims())
      let alice = try authenticator.verify(Credential(token), now: Self.now)
      #expect(alice.uid == "alice")
      #expect(alice.claims["role" as Key] == "editor")
      #expect(alice.expires == nil)
      #expect(!alice.isAdmin)
      let keys = JWTKeyCollection()
      await keys.add(
        hmac: HMACKey(from: String(repeating: "k", count: 40)), digestAlgorithm: .sha256)
      let signed = try await keys.sign(Claims(sub: nil, user_id: "bob"))
      #expect(try authenticator.verify(Credential(signed), now: Self.now).uid == "bob")
      #expect(try authenticator.verify(Credential("owner"), now: Self.now).isAdmin)
      for text in ["", "a", "a.b.c", "....", token + "x", "ownerx", signed.dropLast(4) + "!!!!"] {
        #expect(Self.refusal(authenticator, text) == .invalidToken, "\(text)")
      }
      #expect(
        Self.refusal(authenticator, try await Self.unsigned(Claims(sub: ""))) == .invalidToken)
    }

    @Test(
      "With a secret, only what is signed with it is taken",
      arguments: ["short", String(repeating: "k", count: 100)])
    func secret(_ secret: String) async throws {
      let authenticator = try await JWTAuthenticator(
        secret: Array(secret.utf8), expecting: Self.endless)
      let padded = Array(secret.utf8) + [UInt8](repeating: 0, count: max(0, 32 - secret.utf8.count))
      let keys = JWTKeyCollection()
      await keys.add(hmac: HMACKey(from: padded), digestAlgorithm: .sha256)
      let token = try await keys.sign(Claims())
      #expect(try authenticator.verify(Credential(token), now: Self.now).uid == "alice")
      let others = JWTKeyCollection()
      await others.add(
        hmac: HMACKey(from: String(repeating: "o", count: 40)), digestAlgorithm: .sha256)
      #expect(Self.refusal(authenticator, try await others.sign(Claims())) == .invalidToken)
      #expect(Self.refusal(authenticator, try await Self.unsigned(Claims())) == .invalidToken)
      #expect(Self.refusal(authenticator, "owner") == .invalidToken)
      let parts = token.split(separator: ".")
      let other = try await keys.sign(Claims(sub: "mallory")).split(separator: ".")
      #expect(Self.refusal(authenticator, "\(parts[0]).\(other[1]).\(parts[2])") == .invalidToken)
      let lenient = try await JWTAuthenticator(
        secret: Array(secret.utf8), expecting: Self.endless, allowsUnsigned: true,
        allowsOwner: true)
      #expect(Self.refusal(lenient, try await Self.unsigned(Claims())) == nil)
      #expect(Self.refusal(lenient, "owner") == nil)
      #expect(Self.refusal(lenient, try await others.sign(Claims())) == .invalidToken)
    }

    @Test("With a public key, only what its private key signed is taken")
    func publicKey() async throws {
      let key = try Insecure.RSA.PrivateKey(pem: Self.privateKey)
      let authenticator = try await JWTAuthenticator(
        publicKey: key.publicKey.pemRepresentation, expecting: .anything)
      let keys = JWTKeyCollection()
      await keys.add(rsa: key, digestAlgorithm: .sha256)
      let token = try await keys.sign(Claims(exp: Self.seconds + 60))
      let alice = try authenticator.verify(Credential(token), now: Self.now)
      #expect(alice.expires == Int64(Self.seconds + 60) * 1000)
      // A public key is no secret: nothing signed with it as one is taken.
      let confused = JWTKeyCollection()
      await confused.add(
        hmac: HMACKey(from: key.publicKey.pemRepresentation), digestAlgorithm: .sha256)
      // Nothing but their signatures is against them.
      let claims = Claims(exp: Self.seconds + 60)
      #expect(Self.refusal(authenticator, try await confused.sign(claims)) == .invalidToken)
      #expect(Self.refusal(authenticator, try await Self.unsigned(claims)) == .invalidToken)
      let lenient = try await JWTAuthenticator(
        publicKey: key.publicKey.pemRepresentation, expecting: .anything, allowsUnsigned: true)
      #expect(Self.refusal(lenient, try await Self.unsigned(claims)) == nil)
      #expect(Self.refusal(lenient, try await confused.sign(claims)) == .invalidToken)
      await #expect(throws: JWTKeyError.self) {
        try await JWTAuthenticator(publicKey: "no key", expecting: .anything)
      }
      await #expect(throws: JWTKeyError.self) {
        try await JWTAuthenticator(secret: [], expecting: .anything)
      }
      // A key that was to come from somewhere and did not opens nothing.
      await #expect(throws: JWTKeyError.self) {
        try await JWTAuthenticator(expecting: .anything, allowsUnsigned: true)
      }
    }

    @Test("Times hold by the server's clock")
    func times() async throws {
      let authenticator = JWTAuthenticator.emulator()
      let token = try await Self.unsigned(Claims(exp: Self.seconds, iat: Self.seconds - 3600))
      #expect(Self.refusal(authenticator, token, now: Self.now) == .expiredToken)
      #expect(Self.refusal(authenticator, token, now: Self.now - 1000) == nil)
      let early = try await Self.unsigned(Claims(iat: Self.seconds + 61))
      #expect(Self.refusal(authenticator, early, now: Self.now - 149) == .invalidToken)
      #expect(Self.refusal(authenticator, early, now: Self.now + 1000) == nil)
      // As Firebase's SDKs make them up for tests.
      let mock = try await Self.unsigned(Claims(exp: 3600, iat: 0))
      #expect(try authenticator.verify(Credential(mock), now: Self.now).expires == nil)
      let made = try await Self.unsigned(Claims(exp: 1_000_003_599, iat: 999_999_999))
      #expect(try authenticator.verify(Credential(made), now: Self.now).expires == nil)
      let old = try await Self.unsigned(Claims(exp: 1_000_003_600, iat: 1_000_000_000))
      #expect(Self.refusal(authenticator, old, now: Self.now) == .expiredToken)
      let odd = try await Self.unsigned(Claims(exp: 3600))
      #expect(Self.refusal(authenticator, odd, now: Self.now) == .expiredToken)
      let never = try await Self.unsigned(Claims(exp: .max))
      #expect(try authenticator.verify(Credential(never), now: Self.now).expires == .max)
    }

    @Test("A session is told when its token's time is over, and is nobody's then")
    func revocation() async throws {
      let rules = ClosureRules(
        read: { target, context in target.path != "private" || context.auth?.uid == "alice" },
        write: { _, _, context in context.auth != nil })
      let server = Server(
        ServerConfiguration(authenticator: JWTAuthenticator.emulator(), rules: rules))
      try await serving(server) { serving in
        let client = try await serving.client()
        #expect(
          try await client.ask("p", #"{"p":"/x","d":1}"#)
            == ["s": "permission_denied", "d": "Permission denied"])
        // Long enough for a busy machine to have asked all that is allowed before.
        let expires = Int(server.clock.now / 1000) + 15
        let token = try await Self.unsigned(Claims(exp: expires))
        let answer = try await client.ask("auth", #"{"cred":"\#(token)"}"#)
        #expect(answer["s" as Key] == "ok")
        #expect(answer["d/auth/uid" as Path] == "alice")
        #expect(try await client.ask("p", #"{"p":"/x","d":1}"#)["s" as Key] == "ok")
        #expect(try await client.ask("q", #"{"p":"/private","h":""}"#)["s" as Key] == "ok")
        // Unasked, when its time has come.
        let push = try await client.message()
        #expect(push?["d/a" as Path] == "ac")
        #expect(push?["d/b/s" as Path] == "expired_token")
        #expect(try await client.message()?["d/a" as Path] == "c")
        #expect(server.clock.now >= Int64(expires) * 1000)
        #expect(
          try await client.ask("p", #"{"p":"/x","d":2}"#)["s" as Key] == "permission_denied")
        let again = try await client.ask("auth", #"{"cred":"\#(token)"}"#)
        #expect(again["s" as Key] == "expired_token")
      }
    }

    @Test("A session is whom its last token says, and nobody's without one")
    func change() async throws {
      let server = Server(
        ServerConfiguration(
          authenticator: JWTAuthenticator.emulator(),
          rules: ClosureRules(write: { path, _, context in path.last?.string == context.auth?.uid })
        ))
      try await serving(server) { serving in
        let client = try await serving.client()
        let token = try await Self.unsigned(Claims())
        _ = try await client.ask("auth", #"{"cred":"\#(token)"}"#)
        #expect(try await client.ask("p", #"{"p":"/alice","d":1}"#)["s" as Key] == "ok")
        _ = try await client.ask("gauth", #"{"cred":"owner"}"#)
        #expect(try await client.ask("p", #"{"p":"/bob","d":1}"#)["s" as Key] == "ok")
        #expect(try await client.ask("unauth", "{}")["s" as Key] == "ok")
        #expect(
          try await client.ask("p", #"{"p":"/alice","d":2}"#)["s" as Key] == "permission_denied")
        _ = try await client.ask("auth", #"{"cred":"\#(token)"}"#)
        let bad = try await client.ask("auth", #"{"cred":"nonsense"}"#)
        #expect(bad["s" as Key] == "invalid_token")
        #expect(
          try await client.ask("p", #"{"p":"/alice","d":2}"#)["s" as Key] == "permission_denied")
      }
    }
  }
#endif
