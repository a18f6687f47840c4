import ConiferWire
import Synchronization

/// The databases that an app reaches by the class: one that it configures, and others by URL.
final class DatabaseDirectory: Sendable {
  private struct State {
    var main: Database?
    var others: [String: Database] = [:]
  }

  /// The one of the process.
  static let common = DatabaseDirectory()

  /// Whether new databases log in detail.
  static let isVerbose = Atomic(false)

  private let state = Mutex(State())
  /// The default storage and transport; nil when no module installed any.
  private let defaults: AppDefaults?

  init(_ defaults: AppDefaults? = .current) { self.defaults = defaults }

  /// Makes the main database; false when there is one already, also by its URL.
  func configure(_ configuration: DatabaseConfiguration) -> Bool {
    state.withLock { state in
      let name = Self.name(configuration.host, configuration.namespace)
      guard state.main == nil, state.others[name] == nil else { return false }
      state.main = Database(withSDKDefaults(configuration)) { Engine($0) }
      return true
    }
  }

  /// The main database; without a configuration one in memory, which is logged as an error.
  var main: Database {
    let (main, isNew) = state.withLock { state in
      if let main = state.main { return (main, false) }
      let main = Database(withSDKDefaults(DatabaseConfiguration())) { Engine($0) }
      state.main = main
      return (main, true)
    }
    if isNew, defaults == nil {
      main.report(
        DatabaseError(
          .invalidConfiguration,
          "Database.database() was called before Database.configure: it is empty, in memory, and "
            + "stays offline.",
          remedy: "Call Database.configure when the app starts."))
    }
    return main
  }

  /// The database with a URL: the main one, or another one with the settings of the main one. The
  /// other one keeps its data in memory until its persistence is enabled.
  func database(_ url: String) -> Database {
    // Without defaults only the main database can have a transport, so it must be configured first.
    let main: Database? = defaults == nil ? self.main : state.withLock { $0.main }
    let place: DatabaseURL
    do throws(DatabaseError) {
      place = try DatabaseURL(url)
    } catch {
      let common = main ?? self.main
      common.report(error)
      return common
    }
    var configuration = main?.configuration ?? DatabaseConfiguration()
    let isMain = main != nil && configuration.host.lowercased() == place.host
    if isMain, let main, configuration.namespace.lowercased() == place.namespace { return main }
    configuration.namespace = place.namespace
    configuration.host = place.host
    configuration.isSecure = place.isSecure
    configuration.storage = nil
    configuration.standardStorage = defaults?.storage
    configuration.isPersistenceEnabled = false
    // A URL names a server, also beside a main database that has none.
    configuration.localAuthority = nil
    if !isMain {
      // The transport of the main database leads to that database's host.
      configuration.transport = configuration.transport?.leading(
        to: place.host, isSecure: place.isSecure)
    }
    if configuration.transport == nil {
      configuration.transport = defaults?.transport(place.host, place.isSecure)
    }
    let name = Self.name(place.host, place.namespace)
    let (other, isNew) = state.withLock { state in
      if let other = state.others[name] { return (other, false) }
      let other = Database(configuration) { Engine($0) }
      state.others[name] = other
      return (other, true)
    }
    if isNew, configuration.transport == nil, main?.configuration.transport != nil {
      other.report(
        DatabaseError(
          .invalidConfiguration,
          "The transport of the common database does not lead to \(place.host): the database of "
            + "that host stays offline.",
          remedy: "Make it with Database(configuration) and a transport of its own."))
    }
    return other
  }

  /// Makes the main database from a URL, with the default transport.
  ///
  /// - Throws: `invalidURL`.
  func configure(url: String) throws(DatabaseError) -> Bool {
    var configuration = try DatabaseConfiguration(url: url)
    configuration.transport = defaults?.transport(configuration.host, configuration.isSecure)
    return configure(configuration)
  }

  /// The databases whose engines run.
  private var inUse: [Database] {
    let all = state.withLock { Array($0.others.values) + ($0.main.map { [$0] } ?? []) }
    return all.filter(\.isInUse)
  }

  /// Connects the databases that are in use.
  func goOnline() { for database in inUse { database.goOnline() } }

  /// Disconnects the databases that are in use.
  func goOffline() { for database in inUse { database.goOffline() } }

  private static func name(_ host: String, _ namespace: String) -> String {
    "\(host.lowercased()) \(namespace.lowercased())"
  }

  private func withSDKDefaults(_ configuration: DatabaseConfiguration) -> DatabaseConfiguration {
    var configuration = configuration
    if configuration.storage == nil { configuration.standardStorage = defaults?.storage }
    configuration.isPersistenceEnabled = configuration.isPersistenceEnabled ?? false
    return configuration
  }
}
