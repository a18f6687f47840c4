import Synchronization

/// The databases that an app reaches by the class: those of its apps, each with its configuration.
final class FirestoreDirectory: Sendable {
  /// Which one.
  private struct Key: Hashable {
    let app: String
    let database: String
  }

  private struct State {
    var configurations: [String: FirestoreConfiguration] = [:]
    var databases: [Key: Firestore] = [:]
    /// Of the storage that the databases of one key have one after the other.
    var uses: [Key: StorageUses] = [:]
  }

  /// The name of the app that is meant where none is named.
  static let standardApp = "[DEFAULT]"

  private let state = Mutex(State())
  private let defaults: FirestoreDefaults?
  private let makeEngine: @Sendable (FirestoreConfiguration) -> any DocumentEngine

  init(
    _ defaults: FirestoreDefaults?,
    makeEngine: @escaping @Sendable (FirestoreConfiguration) -> any DocumentEngine
  ) {
    self.defaults = defaults
    self.makeEngine = makeEngine
  }

  /// Sets what the databases of an app are made with; false when the app has a configuration, or one of
  /// its databases was taken already.
  func configure(_ configuration: FirestoreConfiguration, app: String) -> Bool {
    state.withLock { state in
      let isTaken = state.databases.keys.contains { $0.app == app }
      guard state.configurations[app] == nil, !isTaken else { return false }
      state.configurations[app] = configuration
      return true
    }
  }

  /// The database of an app; after it was terminated, a new one.
  ///
  /// - Parameters:
  ///   - app: the app's name.
  ///   - database: the database's id; nil for the one that the app's configuration names.
  func firestore(app: String, database: String?) -> Firestore {
    let (firestore, fault) = state.withLock { state -> (Firestore, FirestoreError?) in
      let configured = state.configurations[app]
      var configuration = configured ?? FirestoreConfiguration(projectID: "default")
      let key = Key(app: app, database: database ?? configuration.databaseID)
      let old = state.databases[key]
      if let old, !old.isTerminated { return (old, nil) }
      var fault: FirestoreError?
      if configured == nil, defaults == nil || app != Self.standardApp {
        fault = FirestoreError(
          .failedPrecondition,
          "Firestore.firestore() was called before Firestore.configure for the app \(app): the "
            + "database stays offline. Call Firestore.configure when the app starts.")
      }
      if key.database != configuration.databaseID {
        // The configuration's storage and transport belong to the database that it names: a server
        // within the process serves one database, and its messages do not name it.
        if configuration.transport != nil {
          fault = FirestoreError(
            .failedPrecondition,
            "Nothing leads to the database \(key.database): the transport of the app \(app) leads to its "
              + "database \(configuration.databaseID). It stays offline. Call Firestore.configure for an app "
              + "of its own, with a transport that leads to it.")
        }
        configuration.databaseID = key.database
        configuration.storage = nil
        configuration.transport = nil
      }
      let uses = state.uses[key] ?? StorageUses()
      let firestore = Firestore(
        configuration, defaults: defaults, uses: uses, makeEngine: makeEngine)
      (state.databases[key], state.uses[key]) = (firestore, uses)
      return (firestore, fault)
    }
    if let fault { firestore.report(fault) }
    return firestore
  }
}
