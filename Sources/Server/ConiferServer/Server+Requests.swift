public import ConiferQuery
public import ConiferTree
public import ConiferWire

/// What a request was answered that no session made.
public struct ServerAnswer: Sendable {
  /// What a session would be answered.
  public var response: Response
  /// What a write put where, with paths from the root and server values resolved; none when it was
  /// not done.
  public var written: [NodeChange]

  /// An answer.
  public init(_ response: Response, written: [NodeChange] = []) {
    self.response = response
    self.written = written
  }
}

// What asks once and has no session: requests of REST.
extension Server {
  /// Reads a target once, in the name of a token's bearer; does not wait for writes that are being
  /// stored, and makes no database.
  ///
  /// - Parameters:
  ///   - target: what is read; the answer warns of `no_index` where indexes are declared and none
  ///     has its order.
  ///   - token: whose name; nil for nobody's. The rules apply but to an administrator.
  ///   - namespace: the database's name.
  public func read(
    _ target: QueryTarget, as token: VerifiedToken?, in namespace: String
  ) -> Response {
    let host = hostIfServed(namespace)
    return (host ?? NamespaceHost(configuration, rules: rules(of: namespace)))
      .read(target, as: token)
  }

  /// Does what a session could ask for, in the name of a token's bearer: a `put` or a `merge`, which
  /// is answered when it is stored, or a `get`. Other requests are answered `failure`.
  ///
  /// - Parameters:
  ///   - request: what is asked for.
  ///   - token: whose name; nil for nobody's. The rules apply but to an administrator.
  ///   - namespace: the database's name; one that is not there is made, in memory.
  ///   - limit: the most bytes of the write; nil for `ServerLimits.write`.
  public func perform(
    _ request: Request, as token: VerifiedToken?, in namespace: String, limit: Int? = nil
  ) async -> ServerAnswer {
    while true {
      // One that has been forgotten meanwhile does nothing.
      let answer = await host(namespace).perform(request, as: token, limit: limit)
      if let answer { return answer }
    }
  }

  /// Whether a database has no rules, so that everybody may do everything.
  public func isOpen(_ namespace: String) -> Bool {
    rules(of: namespace) is OpenRules
  }

  /// Checks a token, now.
  ///
  /// - Throws: why it is not taken.
  public func verify(_ credential: Credential) throws(TokenRefusal) -> VerifiedToken {
    let now = clock.now
    let verified = try configuration.authenticator.verify(credential, now: now)
    if let expires = verified.expires, expires <= now { throw TokenRefusal.expired }
    return verified
  }
}
