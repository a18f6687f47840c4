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
    @Flag(help: "Take unsigned tokens although there are keys.")
    var allowUnsigned = false
    @Flag(help: "Take owner as the administrator's token although there are keys.")
    var allowOwner = false

    /// Whether signatures are checked.
    var hasKeys: Bool { tokenSecret != nil || tokenKey != nil }

    /// What checks tokens.
    func authenticator() async throws -> JWTAuthenticator {
      var secret = try tokenSecret.map { try Input.file($0) }
      // An editor's line break is not meant.
      while let last = secret?.last, last == 0x0A || last == 0x0D { secret?.removeLast() }
      let key = try tokenKey.map { String(decoding: try Input.file($0), as: UTF8.self) }
      do throws(JWTKeyError) {
        return try await JWTAuthenticator(
          secret: secret, publicKey: key, allowsUnsigned: allowUnsigned ? true : nil,
          allowsOwner: allowOwner ? true : nil)
      } catch {
        throw Failure("bad-key", .badData, error.message)
      }
    }
  }
#endif
