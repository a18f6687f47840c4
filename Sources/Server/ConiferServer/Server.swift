public import ConiferKeyValue
public import ConiferStorage
public import ConiferTree
public import ConiferWire
import Logging
import Synchronization

/// A server of databases, which holds their data, orders their writes and serves sessions, without
/// sockets.
///
/// - Writes have one total order. Each is atomic, and all affected listeners are told before the
///   writer is answered.
/// - Writes have no ids, so a repeated write is not recognised: when a client that lost the answer
///   sends a write again, it is applied again, as with the Realtime Database.
/// - All members may be called from any thread, but not from a receiver or an answer closure.
public final class Server: Sendable {
  let configuration: ServerConfiguration

  struct State: Sendable {
    var hosts: [String: NamespaceHost] = [:]
    /// The rules of databases without their own.
    var rules: any AccessRules
    /// The stores whose reports of damage are logged.
    var followed: Set<ObjectIdentifier> = []
  }

  let state: Mutex<State>
  /// The memory of the onDisconnect operations of all sessions.
  private let disconnects: MemoryBudget

  /// The server's clock.
  public var clock: ServerClock { configuration.clock }

  /// A server without databases.
  public init(_ configuration: ServerConfiguration = ServerConfiguration()) {
    self.configuration = configuration
    state = Mutex(State(rules: configuration.rules))
    disconnects = MemoryBudget(configuration.limits.disconnects)
  }

  // MARK: Databases

  /// Serves a database from a store, and loads it into memory.
  ///
  /// Each write is committed before listeners are told and the writer is answered, and so is each onDisconnect operation:
  /// those of sessions that an earlier server left run now, once, as their users, by the stored rules, or else by those of
  /// the configuration and `setRules(_:)`. Rules that `storeRules` set are set again.
  /// The caller closes the store, after `waitUntilIdle()`. The server observes the store's incidents and logs each.
  ///
  /// - Parameters:
  ///   - namespace: the database's name and the name of its tree in the store, which the first
  ///     write creates; 1 to 256 UTF-8 bytes.
  ///   - backend: a store that is an authority.
  ///   - durability: of each commit; nil for the backend's own.
  /// - Throws: `invalid` (the name; the store is a cache; the database is already served), `newerFormat` for rules that this
  ///   version cannot read, and errors of loading.
  public func open(
    _ namespace: String, in backend: any StorageBackend, durability: Durability? = nil
  ) async throws(StoreError) {
    guard backend.traits.role == .authority else {
      throw StoreError(
        .invalid, "The store is a cache, which may drop data: open it as an authority.")
    }
    guard (1...256).contains(namespace.utf8.count) else {
      throw StoreError(
        .invalid, "A database's name has 1 to 256 UTF-8 bytes, not \(namespace.utf8.count).")
    }
    follow(backend)
    let isThere = try backend.read { (view) throws(StoreError) in
      try view.trees().contains { $0.name == namespace }
    }
    var tree: TreeID?
    var (root, kept) = (Node.empty, KeptRecords())
    if isThere {
      let found = try await backend.tree(named: namespace)
      (root, kept) = try backend.read { (view) throws(StoreError) in
        (try view.node(found, .root), try KeptRecords(view, found, configuration))
      }
      tree = found
    }
    let store = NamespaceHost.Store(
      backend: backend, name: namespace, tree: tree,
      durability: durability ?? backend.traits.durability,
      housekeeping: configuration.housekeeping(of: backend))
    let isNew = state.withLock { [root, kept] state in
      if state.hosts[namespace] != nil { return false }
      let host = NamespaceHost(
        configuration, rules: state.rules, root: root, store: store, disconnects: disconnects)
      // Before anybody can connect.
      if let rules = kept.rules { host.handle(.setRules(rules, isCommon: false)) }
      host.restore(kept)
      state.hosts[namespace] = host
      return true
    }
    guard isNew else {
      store.housekeeping?.leave()
      throw StoreError(
        .invalid, "The database \(namespace) is already served. Open it before a client connects.")
    }
    // What earlier sessions left is done before anybody reads.
    await waitUntilIdle(namespace)
  }

  /// Logs a store's reports of damage, once however many databases it has.
  private func follow(_ backend: any StorageBackend) {
    let isNew = state.withLock { $0.followed.insert(ObjectIdentifier(backend)).inserted }
    guard isNew else { return }
    IncidentLog.follow(backend) { [logger = configuration.logger] incident in
      logger.error("storage was damaged", metadata: ["incident": "\(incident)"])
    }
  }

  /// Sets the rules of a database; listens that they do not allow end.
  ///
  /// `SecurityRules` also declare indexes, in addition to those of `setIndexes`.
  public func setRules(_ rules: any AccessRules, in namespace: String) {
    with(namespace) { $0.handle(.setRules(rules, isCommon: false)) }
  }

  /// Sets the rules of all databases, existing and future; listens that they do not allow end. They
  /// replace rules that were set for one database, until such rules are set again.
  public func setRules(_ rules: any AccessRules) {
    state.withLock { state in
      state.rules = rules
      for host in state.hosts.values { host.handle(.setRules(rules, isCommon: true)) }
    }
  }

  /// Sets the rules of a database from a rules file, as `SecurityRules` reads it.
  ///
  /// - Parameters:
  ///   - json: the file in UTF-8.
  ///   - namespace: the database's name.
  /// - Throws: the error in the file with its position; the rules stay as they were.
  public func setRules(json: [UInt8], in namespace: String) throws(RulesError) {
    setRules(try SecurityRules(json: json), in: namespace)
  }

  /// Sets the rules of a database from a rules file, and keeps them in its store, if it has one and the configuration's
  /// `keepsRules` is set; `open` sets them again.
  ///
  /// - Parameters:
  ///   - json: the file in UTF-8.
  ///   - namespace: the database's name.
  /// - Returns: whether they were stored and set; else they stayed as they were, and the answer says why.
  /// - Throws: the error in the file with its position; the rules stay as they were.
  public func storeRules(
    json: [UInt8], in namespace: String
  ) async throws(RulesError) -> Response {
    let rules = try SecurityRules(json: json)
    guard configuration.keepsRules else {
      setRules(rules, in: namespace)
      return .ok
    }
    return await withCheckedContinuation { continuation in
      with(namespace) { $0.storeRules(rules) { continuation.resume(returning: $0) } }
    }
  }

  /// The rules file of a database.
  ///
  /// - Parameters:
  ///   - namespace: the database's name.
  ///   - strict: whether to return strict JSON, without comments and raw control characters.
  /// - Returns: the original file; for `OpenRules` one that allows everything, and for other rules
  ///   in code one without rules.
  public func rulesSource(in namespace: String, strict: Bool = false) -> [UInt8] {
    switch rules(of: namespace) {
    case let rules as SecurityRules: strict ? rules.strictSource : rules.source
    case is OpenRules: Array(#"{"rules":{".read":true,".write":true}}"#.utf8)
    default: Array(#"{"rules":{}}"#.utf8)
    }
  }

  /// Declares the indexes of a database, so that filtered listens and gets without one are answered
  /// with the warning `no_index`.
  ///
  /// - Parameters:
  ///   - indexes: the indexes; nil, the default, when indexes are not required.
  ///   - namespace: the database's name; a missing one is created, in memory.
  public func setIndexes(_ indexes: [IndexDefinition]?, in namespace: String) {
    with(namespace) { $0.handle(.setIndexes(indexes)) }
  }

  // MARK: Sessions

  /// Opens a session; its first message is `hello`.
  ///
  /// - Parameters:
  ///   - namespace: the database's name; a missing one is created, in memory.
  ///   - host: the host that the client gets for reconnecting; nil for the server's own.
  ///   - lastSession: an earlier session of the client, which ends now if it has not ended yet.
  ///   - receive: gets messages in order, and `closed` when the server ends the session. It is
  ///     called while the database is locked: it must return at once and not call the server.
  public func connect(
    to namespace: String, host: String? = nil, lastSession: String? = nil,
    receive: @escaping @Sendable (TransportEvent) -> Void
  ) -> ServerSession {
    with(namespace) { $0.connect(host: host, lastSession: lastSession, receive) }
  }

  /// The names of a database's live sessions, oldest first.
  public func sessions(in namespace: String) -> [String] {
    hostIfServed(namespace)?.sessions ?? []
  }

  /// Ends all sessions of a database; their onDisconnect operations run.
  ///
  /// - Parameters:
  ///   - namespace: the database's name.
  ///   - reason: the reason that the clients get.
  public func disconnectAll(in namespace: String, reason: String = "The server ended the session.")
  {
    hostIfServed(namespace)?.handle(.evict(reason))
  }

  /// Expires all tokens in use: their sessions are told, and become nobody's.
  public func expireTokens(in namespace: String) {
    hostIfServed(namespace)?.handle(.expireTokens(nil))
  }

  /// Handles what is due after the clock was moved: tokens expire.
  public func tick() {
    for host in state.withLock({ Array($0.hosts.values) }) { host.handle(.tick) }
  }

  // MARK: Data

  /// The data of a database at a path, with all writes that were answered.
  public func data(_ path: Path = .root, in namespace: String) -> Node {
    hostIfServed(namespace)?.root[path] ?? .empty
  }

  /// Writes as the server itself; rules do not apply, size limits do.
  ///
  /// - Parameters:
  ///   - changes: replaced nodes with paths from the root, all or none.
  ///   - namespace: the database's name.
  ///   - answer: called with the answer that a client would get; before this returns when the
  ///     database is only in memory.
  public func write(
    _ changes: [NodeChange], in namespace: String,
    answer: @escaping @Sendable (Response) -> Void = { _ in }
  ) {
    with(namespace) { $0.call(changes, answer) }
  }

  /// Replaces one node as the server itself, as `write` does.
  public func set(_ path: Path, _ node: Node, in namespace: String) {
    write([NodeChange(path, node)], in: namespace)
  }

  /// Returns when no write of a database waits for its commit.
  public func waitUntilIdle(_ namespace: String) async {
    await hostIfServed(namespace)?.waitUntilIdle()
  }

  /// The names of the databases that are served, in order.
  var hostNames: [String] {
    state.withLock { Array($0.hosts.keys) }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The host of a database, if it is served.
  func hostIfServed(_ namespace: String) -> NamespaceHost? {
    state.withLock { $0.hosts[namespace] }
  }

  /// The rules of a database, even if it does not exist.
  func rules(of namespace: String) -> any AccessRules {
    let (host, common) = state.withLock { ($0.hosts[namespace], $0.rules) }
    return host?.rules ?? common
  }

  /// Calls a closure with a database, which is created if missing.
  ///
  /// - Parameter body: returns nil when the database was dropped meanwhile.
  func with<R>(_ namespace: String, _ body: (NamespaceHost) -> R?) -> R {
    while true {
      if let result = body(host(namespace)) { return result }
    }
  }

  func host(_ namespace: String) -> NamespaceHost {
    state.withLock { state in
      if let host = state.hosts[namespace] { return host }
      let host = NamespaceHost(configuration, rules: state.rules, disconnects: disconnects)
      state.hosts[namespace] = host
      return host
    }
  }
}
