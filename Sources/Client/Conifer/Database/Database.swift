import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Logging
import Synchronization

/// A client of one tree of shared data, for reads, writes and observers that work the same online
/// and offline.
///
/// It may be used from any thread. One thread of its own runs its engine and its storage. Several may
/// be open at once, each with its own files.
public final class Database: Sendable {
  private struct State {
    var configuration: DatabaseConfiguration
    var engine: (any DatabaseEngine)?
  }

  private let state: Mutex<State>
  private let makeEngine: @Sendable (DatabaseConfiguration) -> any DatabaseEngine
  /// Each database has its own generator, because each server has its own time.
  let pushIDs = Mutex(PushIDGenerator())

  /// A database; it opens its store and connects when it is first used.
  ///
  /// What is invalid in the configuration is put right, and logged as an error;
  /// ``DatabaseConfiguration/validate()`` tells before.
  public convenience init(_ configuration: DatabaseConfiguration) {
    var configuration = configuration
    // The default storage is only for databases that the app gets from the class methods.
    configuration.standardStorage = nil
    self.init(configuration) { Engine($0) }
  }

  init(
    _ configuration: DatabaseConfiguration,
    makeEngine: @escaping @Sendable (DatabaseConfiguration) -> any DatabaseEngine
  ) {
    self.makeEngine = makeEngine
    let (repaired, faults) = configuration.repaired()
    var sound = repaired
    if DatabaseDirectory.isVerbose.load(ordering: .relaxed) { sound.logger.logLevel = .debug }
    state = Mutex(State(configuration: sound))
    for fault in faults { report(fault) }
  }

  /// The engine; the first call makes it, and from then on settings stay as they are.
  var engine: any DatabaseEngine {
    let (engine, isNew) = state.withLock { state in
      if let engine = state.engine { return (engine, false) }
      let engine = makeEngine(state.configuration)
      state.engine = engine
      return (engine, true)
    }
    if isNew { reportMissingServer() }
    return engine
  }

  /// Whether the engine was made.
  var isInUse: Bool { state.withLock { $0.engine != nil } }

  /// Logs an error when the database has the default storage and no transport: such an app may
  /// expect a default server too.
  private func reportMissingServer() {
    let configuration = configuration
    guard configuration.standardStorage != nil, configuration.transport == nil else { return }
    report(
      DatabaseError(
        .invalidConfiguration, "No server is named: the database stays offline.",
        remedy: "Call Database.configure(url:) when the app starts, or useEmulator."))
  }

  /// What it was made with, and the settings as they are.
  public var configuration: DatabaseConfiguration { state.withLock { $0.configuration } }

  /// Changes a setting. Logs an error when the engine exists already or the new value is not valid.
  package func configure(_ name: String, _ change: (inout DatabaseConfiguration) -> Void) {
    let fault: DatabaseError? = state.withLock { state in
      var changed = state.configuration
      change(&changed)
      guard state.engine == nil else {
        return DatabaseError(
          .invalidConfiguration, "\(name) was set after the database was used; it stays as it is.",
          remedy: "Set it before the first reference is made.")
      }
      if let fault = changed.fault { return fault }
      state.configuration = changed
      return nil
    }
    if let fault { report(fault) }
  }

  /// Logs an error that no caller is told.
  func report(_ error: DatabaseError) {
    configuration.logger.error(
      "\(error.message)", metadata: ["code": "\(error.code)", "remedy": "\(error.remedy ?? "")"])
  }

  /// Runs work on the callback queue.
  func deliver(_ work: @escaping @Sendable () -> Void) { configuration.callbackQueue.async(work) }

  /// Gives an error to a block on the callback queue.
  func deliver(_ error: DatabaseError, _ block: @escaping @Sendable (DatabaseError) -> Void) {
    deliver { block(error) }
  }
}

extension Database {
  /// The top of the tree.
  public func reference() -> DatabaseReference { DatabaseReference(self, .root) }

  /// A place.
  ///
  /// - Parameter path: keys separated by slashes, such as `rooms/r1` or `.info/connected`.
  public func reference(withPath path: String) -> DatabaseReference { reference().child(path) }

  /// The place that a URL of this database names.
  ///
  /// - Parameter databaseURL: such as `https://my-app.example.com/rooms/r1`; one of another database
  ///   makes a reference whose use tells the error.
  public func reference(fromURL databaseURL: String) -> DatabaseReference {
    do throws(DatabaseError) {
      let url = try DatabaseURL(databaseURL)
      let configuration = configuration
      let sameHost = url.host == configuration.host.lowercased()
      guard sameHost, url.namespace == configuration.namespace.lowercased() else {
        throw DatabaseError(
          .invalidURL, "\(databaseURL) is of another database than \(self.url(of: .root)).",
          remedy: "Make the reference with the database that the URL names.")
      }
      return DatabaseReference(self, url.path, error: WriteRules.fault(url.path))
    } catch {
      return DatabaseReference(self, .root, error: error)
    }
  }

  /// The URL of a place.
  func url(of path: Path) -> String { DatabaseURL.text(configuration, path) }

  /// Connects, and stays connected as long as it can; that is so at first.
  public func goOnline() { engine.goOnline() }

  /// Disconnects, and stays so until ``goOnline()``: everything goes on offline.
  public func goOffline() { engine.goOffline() }

  /// Discards all writes, transactions and onDisconnect operations that the server has not answered;
  /// each is told `writeCanceled`, and observers see the server's data again. Writes that other processes have left for
  /// the user with ``CompanionDatabase`` are removed too. When the storage refuses, or it cannot be seen what they have
  /// left, nothing is discarded, and the log tells it.
  public func purgeOutstandingWrites() { engine.purge() }

  /// Ends all work and closes the store, with everything in it made durable. It is not used after.
  ///
  /// A database without a server has its queue in memory: its writes are waited for as long as some are stored. What is
  /// left when none was for ten seconds is logged, and lost.
  public func close() async { await engine.close() }
}

extension Database: CustomStringConvertible {
  /// The database's URL.
  public var description: String { url(of: .root) }
}
