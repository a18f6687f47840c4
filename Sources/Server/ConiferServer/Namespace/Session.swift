import ConiferQuery
import ConiferTree
import ConiferWire

extension Namespace {
  /// A namespace's state of one connection.
  struct Session: Sendable {
    /// The name that the client may give as its last session.
    let name: String
    /// When it began, in milliseconds since 1970.
    let since: Int64
    /// The content of its token.
    var auth: VerifiedToken?
    /// The content of the expired token, until there is another one.
    var lapsed: VerifiedToken?
    /// Its listens.
    var listens: [ListenKey: ListenID] = [:]
    /// Its onDisconnect operations.
    var disconnect = DisconnectWrites()
    /// What is stored of them.
    var log = DisconnectLog()

    init(name: String, since: Int64) {
      self.name = name
      self.since = since
    }

    /// Sets the session's user.
    mutating func setUser(_ token: VerifiedToken?) {
      auth = token
      lapsed = nil
    }

    /// Whether its token has expired.
    func isExpired(_ now: Int64) -> Bool { auth?.expires.map { $0 <= now } ?? false }
  }

  /// The key by which a session names a listen.
  struct ListenKey: Hashable, Sendable {
    let target: QueryTarget
    let tag: Int?
  }

  /// A listen's number: later ones are higher.
  struct ListenID: Hashable, Comparable, Sendable {
    let rawValue: UInt64

    static func < (a: ListenID, b: ListenID) -> Bool { a.rawValue < b.rawValue }
  }

  /// One listen of a session.
  struct Listen: Sendable {
    let session: SessionID
    let key: ListenKey
    /// The target as the client sent it, which the rules see.
    let asked: QueryTarget
    /// The result that a filtered listen was sent; nil for a listen to all data.
    var window: QueryWindow?

    var path: Path { key.target.path }
  }

  /// Ends sessions: removes their listens and runs their onDisconnect operations.
  mutating func end(_ ids: [SessionID], now: Int64) {
    let before = root
    var (staged, ended): ([StagedWrite], [EndedSession]) = ([], [])
    for id in ids {
      guard var session = sessions[id] ?? repeated.removeValue(forKey: id) else { continue }
      for listen in session.listens.values { forget(listen) }
      session.listens = [:]
      names[session.name] = nil
      // A client that was cut off could not renew its token, so its operations still run as its user.
      if session.auth == nil { session.auth = session.lapsed }
      sessions[id] = session
      // Each write sees the earlier ones.
      staged += takeDisconnect(of: id, now: now)
      ended.append(EndedSession(id: id, session: session))
      sessions[id] = nil
    }
    root = before
    apply(staged, ended: ended, now: now)
  }

  // MARK: Tokens

  mutating func expire(_ ids: [SessionID], now: Int64) {
    for id in ids {
      guard let session = sessions[id], session.isExpired(now) else { continue }
      sessions[id]?.lapsed = session.auth
      revokeToken(of: id, now: now)
    }
  }

  mutating func revokeToken(of id: SessionID, now: Int64) {
    sessions[id]?.auth = nil
    send(id, .push(.authRevoked(.expiredToken, reason: TokenRefusal.expired.reason)))
    recheckListens(of: id, now: now)
  }

  /// Ends the listens that the rules no longer allow.
  mutating func recheckListens(of id: SessionID, now: Int64) {
    guard let session = sessions[id] else { return }
    let context = context(of: id, now: now)
    if context.auth?.isAdmin == true { return }
    for (key, listen) in session.listens.sorted(by: { $0.value < $1.value }) {
      let asked = listens[listen]?.asked ?? key.target
      let decision = rules.decideRead(asked, context)
      if decision.isAllowed { continue }
      log(decision, "A listen")
      sessions[id]?.listens[key] = nil
      forget(listen)
      // Clients identify a listen by the query that they sent.
      send(id, .push(.listenRevoked(asked.path, asked.spec)))
    }
  }
}
