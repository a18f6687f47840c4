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
      if let firestore = state.databases[key], !firestore.isTerminated { return (firestore, nil) }
      var fault: FirestoreError?
      if configured == nil, defaults == nil || app != Self.standardApp {
        fault = FirestoreError(
          .failedPrecondition,
          "Firestore.firestore() was called before Firestore.configure for the app \(app): the "
            + "database stays offline. Call Firestore.configure when the app starts.")
      }
      if key.database != configuration.databaseID {
        // The storage that is named is that of the database that is named.
        configuration.databaseID = key.database
        configuration.storage = nil
      }
      let firestore = Firestore(configuration, defaults: defaults, makeEngine: makeEngine)
      state.databases[key] = firestore
      return (firestore, fault)
    }
    if let fault { firestore.report(fault) }
    return firestore
  }
}
