public import ConiferDocument
public import ConiferKeyValue
import ConiferStorage
public import ConiferWire
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
    var hosts: [DatabaseID: DatabaseHost] = [:]
    var access: DocumentAccess
  }

  private let configuration: DocumentServerConfiguration
  private let backend: any DocumentBackend
  private let state: Mutex<State>

  /// A server that opens its store, which it owns until `close()`.
  ///
  /// - Throws: as `StorageConfiguration.open()`, and `unsupported` when the backend keeps no documents.
  public init(
    _ configuration: DocumentServerConfiguration = DocumentServerConfiguration()
  ) throws(StoreError) {
    var options = configuration.storage.options
    options.role = .authority
    options.budget = nil
    self.configuration = configuration
    backend = try configuration.storage.with(options).open().keepingDocuments()
    state = Mutex(State(access: configuration.access))
  }

  /// A way to a database for one client; a database that does not exist is made, empty.
  public func transport(to database: DatabaseID) -> DocumentTransport {
    DocumentLink(to: database, of: self).transport
  }

  // MARK: Access

  /// Sets who may do what from now on. Listens that are no longer allowed end with `permission-denied`.
  public func setAccess(_ access: DocumentAccess) {
    // Posted in the lock: of two calls at once all databases take the same one last.
    state.withLock { state in
      state.access = access
      for host in state.hosts.values { host.post(.setAccess(access)) }
    }
  }

  /// Ends all streams that were opened with a token, as `unauthenticated`: clients get others and come again.
  public func expireTokens() { for host in hosts { host.post(.expireTokens) } }

  /// Ends the streams whose tokens have expired, after a clock that is moved by hand was moved.
  public func tick() { for host in hosts { host.post(.tick) } }

  // MARK: Ends

  /// Returns once all that was asked for before is done, and told to all listeners that can take it.
  public func settle() async { for host in hosts { await host.settle() } }

  /// Ends all streams as `unavailable`, and closes the store.
  ///
  /// - Throws: as the backend's `close`.
  public func close() async throws(StoreError) {
    for host in hosts {
      await host.shutDown(
        StatusError(.unavailable, "The server is shutting down. Try again later."))
    }
    try await backend.close()
  }

  private var hosts: [DatabaseHost] { state.withLock { Array($0.hosts.values) } }

  func host(_ database: DatabaseID) -> DatabaseHost {
    state.withLock { state in
      if let host = state.hosts[database] { return host }
      let host = DatabaseHost(database, configuration, state.access, backend)
      state.hosts[database] = host
      return host
    }
  }
}
