public import ConiferQuery
public import ConiferTree
public import ConiferWire

/// The answer to a request that was made without a session, with the nodes that it wrote.
public struct ServerAnswer: Sendable {
  /// The answer that a session would get.
  public var response: Response
  /// The nodes that a write replaced, with paths from the root and resolved server values; empty
  /// when it was not done.
  public var written: [NodeChange]

  /// An answer.
  public init(_ response: Response, written: [NodeChange] = []) {
    self.response = response
    self.written = written
  }
}

// Single requests without a session, such as those of REST.
extension Server {
  /// Reads a target once, as a token's user. It does not wait for writes that are being stored, and
  /// creates no database.
  ///
  /// - Parameters:
  ///   - target: what is read; the answer has the warning `no_index` where indexes are declared and
  ///     none has its order.
  ///   - token: the user's token; nil for nobody. Rules do not apply to an administrator.
  ///   - namespace: the database's name.
  public func read(
    _ target: QueryTarget, as token: VerifiedToken?, in namespace: String
  ) -> Response {
    let host = hostIfServed(namespace)
    return (host ?? NamespaceHost(configuration, rules: rules(of: namespace)))
      .read(target, as: token)
  }

  /// Performs a request of a session, as a token's user: a `put` or a `merge`, which is answered
  /// when it is stored, or a `get`. Other requests are answered `failure`.
  ///
  /// - Parameters:
  ///   - request: what is asked for.
  ///   - token: the user's token; nil for nobody. Rules do not apply to an administrator.
  ///   - namespace: the database's name; a missing one is created, in memory.
  ///   - limit: the maximum size of the write in bytes; nil for `ServerLimits.write`.
  public func perform(
    _ request: Request, as token: VerifiedToken?, in namespace: String, limit: Int? = nil
  ) async -> ServerAnswer {
    while true {
      // A database that was dropped meanwhile does nothing.
      let answer = await host(namespace).perform(request, as: token, limit: limit)
      if let answer { return answer }
    }
  }

  /// Whether a database has no rules, so that everybody may do everything.
  public func isOpen(_ namespace: String) -> Bool {
    rules(of: namespace) is OpenRules
  }

  /// Verifies a token at the present time.
  ///
  /// - Throws: why it is not accepted.
  public func verify(_ credential: Credential) throws(TokenRefusal) -> VerifiedToken {
    let now = clock.now
    let verified = try configuration.authenticator.verify(credential, now: now)
    if let expires = verified.expires, expires <= now { throw TokenRefusal.expired }
    return verified
  }
}
