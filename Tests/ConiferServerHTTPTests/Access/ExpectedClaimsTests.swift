#if Network
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWire
  import Foundation
  import Testing

  /// What tokens must claim.
  struct ExpectedClaimsTests {
    private static let now: Int64 = 1_795_196_710_000
    private static let later = 1_795_200_000

    /// A token with claims as they are written.
    private static func token(_ claims: String) -> String {
      let parts = [#"{"alg":"none"}"#, claims].map { part in
        Data(part.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
          .replacing("=", with: "")
      }
      return "\(parts[0]).\(parts[1])."
    }

    private static func refusal(
      _ authenticator: JWTAuthenticator, _ claims: String
    ) -> Response.Status? {
      do throws(TokenRefusal) {
        _ = try authenticator.verify(Credential(token(claims)), now: now)
        return nil
      } catch {
        return error.status
      }
    }

    /// Looks at claims alone: whether signatures are checked is for other tests.
    private static func expecting(_ expected: ExpectedClaims) async throws -> JWTAuthenticator {
      try await JWTAuthenticator(
        secret: Array("secret".utf8), expecting: expected, allowsUnsigned: true)
    }

    @Test(
      "A time that is no number is refused",
      arguments: [
        #""exp":"1795200000""#, #""exp":"1""#, #""exp":null"#, #""exp":true"#, #""exp":[]"#,
        #""exp":{}"#, #""exp":[1795200000]"#, #""exp":{"a":1}"#, #""exp":"""#,
        #""exp":{".sv":"timestamp"}"#, #""exp":1795200000,"iat":"1""#,
        #""exp":1795200000,"iat":null"#, #""exp":1795200000,"nbf":"1""#,
        #""exp":1795200000,"nbf":null"#, #""exp":1795200000,"nbf":false"#,
        #""exp":"1795200000","iat":0"#, #""exp":1e999"#,
      ])
    func types(_ claims: String) async throws {
      for authenticator in [.emulator(), try await Self.expecting(.anything)] {
        #expect(Self.refusal(authenticator, #"{"sub":"ada",\#(claims)}"#) == .invalidToken)
      }
    }

    @Test("A token without an end is refused, unless that is turned off")
    func endless() async throws {
      let strict = try await Self.expecting(.anything)
      #expect(Self.refusal(strict, #"{"sub":"ada"}"#) == .invalidToken)
      #expect(Self.refusal(strict, #"{"sub":"ada","exp":\#(Self.later)}"#) == nil)
      #expect(Self.refusal(strict, #"{"sub":"ada","exp":1}"#) == .expiredToken)
      #expect(Self.refusal(strict, #"{"sub":"ada","exp":-1}"#) == .expiredToken)
      var lenient = ExpectedClaims.anything
      lenient.requiresExpiry = false
      #expect(Self.refusal(try await Self.expecting(lenient), #"{"sub":"ada"}"#) == nil)
      #expect(Self.refusal(.emulator(), #"{"sub":"ada"}"#) == nil)
    }

    @Test("A token of another project, audience or issuer is refused")
    func parties() async throws {
      let (mine, theirs) = ("my-project", "other")
      func claims(_ issuer: String, _ audience: String) -> String {
        #"{"sub":"ada","exp":\#(Self.later),"iss":\#(issuer),"aud":\#(audience)}"#
      }
      let google = { (id: String) in #""https://securetoken.google.com/\#(id)""# }
      let project = try await Self.expecting(.firebaseProject(mine))
      #expect(Self.refusal(project, claims(google(mine), #""\#(mine)""#)) == nil)
      #expect(Self.refusal(project, claims(google(mine), #"["x","\#(mine)"]"#)) == nil)
      for (issuer, audience) in [
        (google(theirs), #""\#(theirs)""#), (google(theirs), #""\#(mine)""#),
        (google(mine), #""\#(theirs)""#), (google(mine), #"["\#(theirs)"]"#),
        (google(mine), "null"), ("null", #""\#(mine)""#), (google(mine), "[]"), (google(mine), "7"),
        (google(mine + "/"), #""\#(mine)""#),
        (#""securetoken.google.com/my-project""#, #""\#(mine)""#),
        (google(mine), #""MY-PROJECT""#), ("[\(google(mine))]", #""\#(mine)""#),
      ] {
        #expect(
          Self.refusal(project, claims(issuer, audience)) == .invalidToken,
          "\(issuer) \(audience)")
      }
      #expect(Self.refusal(project, #"{"sub":"ada","exp":\#(Self.later)}"#) == .invalidToken)
      let audience = try await Self.expecting(.issued(for: "a"))
      #expect(Self.refusal(audience, claims("7", #""a""#)) == nil)
      #expect(Self.refusal(audience, claims(#""a""#, #""b""#)) == .invalidToken)
      let issuer = try await Self.expecting(.issued(by: "i"))
      #expect(Self.refusal(issuer, claims(#""i""#, "7")) == nil)
      #expect(Self.refusal(issuer, claims(#""a""#, #""i""#)) == .invalidToken)
      let both = try await Self.expecting(.issued(by: "i", for: "a"))
      #expect(Self.refusal(both, claims(#""i""#, #""a""#)) == nil)
      #expect(Self.refusal(both, claims(#""a""#, #""i""#)) == .invalidToken)
    }

    @Test("Beside an authenticator with keys, REST and the page know no administrator but its own")
    func defaults() async throws {
      let authenticator = try await JWTAuthenticator(
        secret: Array("secret".utf8), expecting: .anything)
      let server = Server(
        ServerConfiguration(
          authenticator: authenticator, rules: ClosureRules(read: { _, _ in false })))
      server.set("secret", "found", in: "default")
      try await serving(server, responders: [PageResponder(server), RESTResponder(server)]) {
        serving in
        for path in ["/.json", "/.json?access_token=x", "/.conifer/export.json"] {
          let reply = try await serving.ask(
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\n\r\n")
          #expect(reply?.status == 401, "\(path)")
          #expect(reply?.text.contains("found") == false)
        }
      }
    }
  }
#endif
