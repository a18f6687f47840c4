#if Network
  import ArgumentParser
  import ConiferServerHTTP

  /// The options that say which tokens are taken.
  struct ServeTokenOptions: ParsableArguments {
    @Option(
      help: "The file with the secret of tokens that are signed with HS256.", completion: .file())
    var tokenSecret: String?
    @Option(
      help: "The file with the public key or certificate, in PEM, of tokens signed with RS256.",
      completion: .file())
    var tokenKey: String?
    @Option(help: "The id of the Firebase project whose users' tokens are taken.")
    var tokenProject: String?
    @Option(help: "The audience (aud) of the tokens that are taken.")
    var tokenAudience: String?
    @Option(help: "The issuer (iss) of the tokens that are taken.")
    var tokenIssuer: String?
    @Flag(help: "Take all tokens that the public key signed, whomever they are for.")
    var allowAnyAudience = false
    @Flag(help: "Take tokens without a time at which they end (exp) although there are keys.")
    var allowEndless = false
    @Flag(help: "Take unsigned tokens although there are keys.")
    var allowUnsigned = false
    @Flag(help: "Take owner as the administrator's token although there are keys.")
    var allowOwner = false
    @Flag(help: "Take requests for documents without a token although there are keys.")
    var openDocuments = false

    /// The most bytes of a file with a key.
    private static let longest = 1 << 20

    /// Whether signatures are checked.
    var hasKeys: Bool { tokenSecret != nil || tokenKey != nil }

    func validate() throws {
      let named = [tokenProject, tokenAudience, tokenIssuer].compactMap(\.self)
      if tokenProject != nil, named.count > 1 {
        throw ValidationError(
          "--token-project sets audience and issuer. Leave out the other options.")
      }
      if named.contains("") { throw ValidationError("A project, audience or issuer has a name.") }
      if allowAnyAudience, !named.isEmpty {
        throw ValidationError("--allow-any-audience is for tokens of which nothing is expected.")
      }
      if !hasKeys, !named.isEmpty || allowAnyAudience || allowEndless || openDocuments {
        throw ValidationError(
          "Without --token-secret or --token-key nothing of tokens is checked. Give a key.")
      }
      // Such a key may sign tokens of many services; a secret is this server's own.
      if tokenKey != nil, named.isEmpty, !allowAnyAudience {
        throw ValidationError(
          "--token-key needs --token-project, or --token-audience, --token-issuer or both: the key "
            + "may sign tokens of others too. --allow-any-audience accepts them all.")
      }
    }

    /// The authenticator.
    func authenticator() async throws -> JWTAuthenticator {
      guard hasKeys else { return .emulator() }
      var secret = try tokenSecret.map { try Input.file($0, atMost: Self.longest) }
      // An editor's line break is not meant.
      while let last = secret?.last, last == 0x0A || last == 0x0D { secret?.removeLast() }
      let key = try tokenKey.map {
        String(decoding: try Input.file($0, atMost: Self.longest), as: UTF8.self)
      }
      do throws(JWTKeyError) {
        return try await JWTAuthenticator(
          secret: secret, publicKey: key, expecting: expected, allowsUnsigned: allowUnsigned,
          allowsOwner: allowOwner)
      } catch {
        throw Failure("bad-key", .badData, error.message)
      }
    }

    private var expected: ExpectedClaims {
      var expected: ExpectedClaims =
        switch (tokenProject, tokenIssuer, tokenAudience) {
        case (let project?, _, _): .firebaseProject(project)
        case (nil, let issuer?, let audience?): .issued(by: issuer, for: audience)
        case (nil, let issuer?, nil): .issued(by: issuer)
        case (nil, nil, let audience?): .issued(for: audience)
        case (nil, nil, nil): .anything
        }
      expected.requiresExpiry = !allowEndless
      return expected
    }
  }
#endif
