public import ConiferDocument
public import ConiferKeyValue
public import ConiferStorage
public import ConiferWire
import Logging
import Synchronization

/// A server of document databases, which stores their data, orders their writes and tells
/// listeners, without sockets: for tests, prototypes, and programs that serve others.
///
/// - Writes have one total order in each database. A commit is whole or not at all, and stored before it is
///   answered; its time is later than that of all before it, also across restarts.
/// - Each listener is told moments of the whole database, as they are when it is told.
/// - All members may be called from any thread.
public final class DocumentServer: Sendable {
  private struct State {
    var hosts = HostTable()
    var access: DocumentAccess
    /// Whether `close` was called.
    var isClosed = false
  }

  private let configuration: DocumentServerConfiguration
  private let backend: any DocumentBackend
  private let ownsBackend: Bool
  private let state: Mutex<State>
  /// The transactions that requests have begun.
  let transactions: TransactionTable
  /// The memory of what requests read.
  let readMemory: ReadMemory
  private let commits = CommitCount()
  /// What keeps the store tidy; nil when nothing does.
  package let housekeeping: HousekeepingRunner?

  /// A server that opens its store, which it owns until `close()`.
  ///
  /// - Throws: as `StorageConfiguration.open()`, and `unsupported` when the backend keeps no documents.
  public convenience init(
    _ configuration: DocumentServerConfiguration = DocumentServerConfiguration()
  ) throws(StoreError) {
    var options = configuration.storage.options
    options.role = .authority
    options.budget = nil
    let backend = try configuration.storage.with(options).open()
    try self.init(configuration, backend, ownsBackend: true)
  }

  /// A server over a store that others use too, such as the tree's `Server`; the caller closes it, after `close()`.
  /// The server observes the store's incidents and logs each.
  ///
  /// - Parameters:
  ///   - backend: a store that is an authority.
  ///   - configuration: all but the storage, which has no effect.
  /// - Throws: `invalid` when the store is a cache, `unsupported` when it keeps no documents.
  public convenience init(
    in backend: any StorageBackend,
    _ configuration: DocumentServerConfiguration = DocumentServerConfiguration()
  ) throws(StoreError) {
    guard backend.traits.role == .authority else {
      throw StoreError(
        .invalid, "The store is a cache, which may drop data: open it as an authority.")
    }
    try self.init(configuration, backend, ownsBackend: false)
  }

  private init(
    _ configuration: DocumentServerConfiguration, _ backend: any StorageBackend, ownsBackend: Bool
  ) throws(StoreError) {
    self.configuration = configuration
    self.backend = try backend.keepingDocuments()
    self.ownsBackend = ownsBackend
    IncidentLog.follow(backend) { [logger = configuration.logger] incident in
      logger.error("storage was damaged", metadata: ["incident": "\(incident)"])
    }
    housekeeping =
      configuration.housekeeping == .off
      ? nil
      : .of(backend, clock: configuration.housekeepingClock) { [logger = configuration.logger] in
        logger.warning("The store could not be tidied; it is tried again later: \($0)")
      }
    state = Mutex(State(access: configuration.access))
    transactions = TransactionTable(configuration.bounds.transactions, clock: configuration.clock)
    readMemory = ReadMemory(configuration.bounds)
  }

  /// Who may do what now.
  var access: DocumentAccess { state.withLock { $0.access } }

  var clock: @Sendable () -> Timestamp { configuration.clock }

  /// A way to a database for one client; a database that does not exist is made, empty.
  public func transport(to database: DatabaseID) -> DocumentTransport {
    DocumentLink(to: database, of: self).transport
  }

  // MARK: Access

  /// Sets who may do what from now on. Listens that are no longer allowed end with `permission-denied`.
  public func setAccess(_ access: DocumentAccess) {
    // The requests are posted inside the lock, so that after two concurrent calls all databases
    // have the same access.
    state.withLock { state in
      state.access = access
      for host in state.hosts.all { host.post(.setAccess(access)) }
    }
  }

  /// Ends all streams that were opened with a token, as `unauthenticated`: clients get others and come again.
  public func expireTokens() { for host in hosts { host.post(.expireTokens) } }

  /// Ends the streams whose tokens have expired, after a clock that is moved by hand was moved.
  public func tick() { for host in hosts { host.post(.tick) } }

  // MARK: Ends

  /// Returns once all that was asked for before is done, and told to all listeners that can take it.
  public func waitUntilIdle() async { for host in hosts { await host.waitUntilIdle() } }

  /// Ends all streams as `unavailable`, and closes the store, unless it is the caller's.
  ///
  /// - Throws: as the backend's `close`.
  public func close() async throws(StoreError) {
    for host in hosts {
      await host.shutDown(
        StatusError(.unavailable, "The server is shutting down. Try again later."))
    }
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { housekeeping?.leave() }
    if ownsBackend { try await backend.close() }
  }

  private var hosts: [DatabaseHost] { state.withLock { $0.hosts.all } }

  /// About how many bytes of documents are read for requests that are not answered yet.
  package var readBytes: Int { readMemory.count }

  /// A number that grows with each commit to any database.
  package var commitCount: Int { commits.value }

  /// A number that grows with each commit that makes a database or removes one.
  package var databasesCount: Int { commits.ofDatabases }

  /// The databases that the store has, in the order of their names.
  ///
  /// - Throws: as the store's reads.
  package func databases() throws(StoreError) -> [DatabaseID] {
    let names = try backend.readDocuments { (view) throws(StoreError) in
      try view.trees().filter { $0.order == .documents }.map(\.name)
    }
    // The tree of what the server remembers of a database has a longer name.
    return names.filter { $0.utf8.contains(UInt8(ascii: "/")) }.compactMap(DatabaseID.init(tree:))
      .sorted { "\($0)" < "\($1)" }
  }

  /// Checks who a token stands for.
  ///
  /// - Throws: `unauthenticated` when it is none of the server's, or has expired; also without one where the access
  ///   requires a token.
  package func authenticate(_ token: String?) throws(StatusError) {
    _ = try Caller(token, access, now: clock())
  }

  /// How many databases are in memory.
  package var hostCount: Int { state.withLock { $0.hosts.all.count } }

  /// A database for as long as the server runs.
  func host(_ database: DatabaseID) -> DatabaseHost {
    state.withLock { state in
      state.hosts.keep(database) {
        DatabaseHost(
          database, configuration, state.access, backend, commits, readMemory, housekeeping)
      }
    }
  }

  /// Uses a database for the length of a closure, after which it may leave the memory.
  ///
  /// - Throws: what the closure throws, and `resourceExhausted` while too many are in use.
  func using<R: Sendable>(
    _ database: DatabaseID,
    _ body: @Sendable (DatabaseHost) async throws(StatusError) -> R
  ) async throws(StatusError) -> R {
    let host = try beginUse(of: database)
    defer { endUse(of: database) }
    return try await body(host)
  }

  /// Begins to use a database, which stays in memory until `endUse`, called once.
  ///
  /// - Throws: `resourceExhausted` while too many are in use.
  func beginUse(of database: DatabaseID) throws(StatusError) -> DatabaseHost {
    let host = state.withLock { state in
      state.hosts.begin(database, most: configuration.bounds.used) {
        DatabaseHost(
          database, configuration, state.access, backend, commits, readMemory, housekeeping)
      }
    }
    guard let host else {
      throw StatusError(
        .resourceExhausted,
        "\(configuration.bounds.used) databases are in use, which is the most. Try again later.")
    }
    return host
  }

  /// Ends a use.
  func endUse(of database: DatabaseID) {
    state.withLock {
      $0.hosts.end(
        database, idle: configuration.bounds.idle, bytes: configuration.bounds.histories)
    }
  }
}
