public import ConiferKeyValue
public import ConiferStorage
public import ConiferTree
public import ConiferWire
import Synchronization

/// The authority over databases: it holds their data, serves sessions, and knows nothing of sockets.
///
/// - Every write has a place in one order, is atomic, and is told to all whom it concerns before
///   whoever wrote is answered.
/// - There are no ids by which a repeated write is known: a client that sends a write again, having
///   lost the answer, has it applied again, as with the Realtime Database.
/// - All members may be called from any thread, but not from within a receiver or an answer.
public final class Server: Sendable {
  let configuration: ServerConfiguration

  struct State: Sendable {
    var hosts: [String: NamespaceHost] = [:]
    /// The rules of databases that get none of their own.
    var rules: any AccessRules
  }

  let state: Mutex<State>
  /// What all sessions may have written when they end.
  private let disconnects: MemoryBudget

  /// The time that the server goes by.
  public var clock: ServerClock { configuration.clock }

  /// A server of no databases.
  public init(_ configuration: ServerConfiguration = ServerConfiguration()) {
    self.configuration = configuration
    state = Mutex(State(rules: configuration.rules))
    disconnects = MemoryBudget(configuration.limits.disconnects)
  }

  // MARK: Databases

  /// Serves a database that a store keeps; loads it into memory.
  ///
  /// Each write is committed before it is told or answered. The store stays the caller's to close,
  /// after `settle()`.
  ///
  /// - Parameters:
  ///   - namespace: the database's name, and the name of its tree in the store, which the first write
  ///     makes; 1 to 256 UTF-8 bytes.
  ///   - backend: a store that is an authority.
  ///   - durability: of each commit; nil for the backend's own.
  /// - Throws: `invalid` (the name; the store is a cache; the database is served already), and what loading
  ///   throws.
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
    let isThere = try backend.read { (view) throws(StoreError) in
      try view.trees().contains { $0.name == namespace }
    }
    var tree: TreeID?
    var root = Node.empty
    if isThere {
      let found = try await backend.tree(named: namespace)
      root = try backend.read { (view) throws(StoreError) in try view.node(found, .root) }
      tree = found
    }
    let store = NamespaceHost.Store(
      backend: backend, name: namespace, tree: tree,
      durability: durability ?? backend.traits.durability)
    let isNew = state.withLock { [root] state in
      if state.hosts[namespace] != nil { return false }
      state.hosts[namespace] = NamespaceHost(
        configuration, rules: state.rules, root: root, store: store,
        disconnects: disconnects)
      return true
    }
    guard isNew else {
      throw StoreError(
        .invalid, "The database \(namespace) is served already: open it before a client connects.")
    }
  }

  /// Sets the rules of a database; listens that they do not allow end.
  ///
  /// With `SecurityRules` come the indexes that they declare, beside those of `setIndexes`.
  public func setRules(_ rules: any AccessRules, in namespace: String) {
    with(namespace) { $0.handle(.setRules(rules, isCommon: false)) }
  }

  /// Sets the rules of all databases, those that are there and those to come; listens that they do not
  /// allow end. They take the place of rules that were set for one database, until some are set again.
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
  /// - Throws: what is wrong with the file, and where; the rules stay as they were.
  public func setRules(json: [UInt8], in namespace: String) throws(RulesError) {
    setRules(try SecurityRules(json: json), in: namespace)
  }

  /// The rules file of a database.
  ///
  /// - Parameters:
  ///   - namespace: the database's name.
  ///   - strict: whether comments are left out and strings have no raw control characters, so that
  ///     every reader of JSON takes it.
  /// - Returns: the file as it was given; for `OpenRules` one that allows everything, and for other
  ///   rules that are no file one without rules.
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
  /// - Parameter indexes: the indexes; nil when none is asked for, as at first.
  public func setIndexes(_ indexes: [IndexDefinition]?, in namespace: String) {
    with(namespace) { $0.handle(.setIndexes(indexes)) }
  }

  // MARK: Sessions

  /// Opens a session; its first message is `hello`.
  ///
  /// - Parameters:
  ///   - namespace: the database's name; one that is not there is made, in memory.
  ///   - host: the host that the client is told to connect to again; nil for the server's own.
  ///   - lastSession: a session of the client's that ends now, if it has not.
  ///   - receive: takes messages in order, and `closed` when the server ends the session. It is
  ///     called while the database is locked: it must return at once and call nothing of the server.
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
  /// - Parameter reason: what the clients are told.
  public func disconnectAll(in namespace: String, reason: String = "The server ended the session.")
  {
    hostIfServed(namespace)?.handle(.evict(reason))
  }

  /// Ends the validity of all tokens that were given: their sessions are told so, and are nobody's.
  public func expireTokens(in namespace: String) {
    hostIfServed(namespace)?.handle(.expireTokens(nil))
  }

  /// Does what is due by the clock, after it was moved: tokens expire.
  public func tick() {
    for host in state.withLock({ Array($0.hosts.values) }) { host.handle(.tick) }
  }

  // MARK: Data

  /// The data of a database at a path, as far as it was told and answered.
  public func data(_ path: Path = .root, in namespace: String) -> Node {
    hostIfServed(namespace)?.root[path] ?? .empty
  }

  /// Writes in the server's own name; the rules do not apply, sizes do.
  ///
  /// - Parameters:
  ///   - changes: replaced nodes with paths from the root, all or none.
  ///   - namespace: the database's name.
  ///   - answer: called with what a client would be answered; before this returns, when the database
  ///     is in memory alone.
  public func write(
    _ changes: [NodeChange], in namespace: String,
    answer: @escaping @Sendable (Response) -> Void = { _ in }
  ) {
    with(namespace) { $0.call(changes, answer) }
  }

  /// Replaces one node in the server's own name, as `write` does.
  public func set(_ path: Path, _ node: Node, in namespace: String) {
    write([NodeChange(path, node)], in: namespace)
  }

  /// Returns when no write of a database waits for its commit.
  public func settle(_ namespace: String) async { await hostIfServed(namespace)?.settle() }

  /// The names of the databases that are served, in order.
  var hostNames: [String] {
    state.withLock { Array($0.hosts.keys) }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// A database that is served already.
  func hostIfServed(_ namespace: String) -> NamespaceHost? {
    state.withLock { $0.hosts[namespace] }
  }

  /// The rules of a database, also of one that is not there.
  func rules(of namespace: String) -> any AccessRules {
    let (host, common) = state.withLock { ($0.hosts[namespace], $0.rules) }
    return host?.rules ?? common
  }

  /// Does something with a database, which is made if it is not there.
  ///
  /// - Parameter body: returns nil when the database has been forgotten meanwhile.
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
