import Logging
import Synchronization

// The databases that apps get from class methods, as in the Apple SDK. A configuration takes the
// place of that SDK's options file. An app that uses several projects gives each a name.
extension Firestore {
  /// Sets the configuration of the databases that ``firestore()`` and the like return. It is called
  /// once for each app, before they are.
  ///
  /// A second call changes nothing, and is logged as an error.
  ///
  /// - Parameters:
  ///   - configuration: the project, and what its databases are made with.
  ///   - app: the name of the app within the process, for one that talks to several projects.
  public static func configure(_ configuration: FirestoreConfiguration, app: String = "[DEFAULT]") {
    guard !directory.configure(configuration, app: app) else { return }
    configuration.logger.error(
      "Firestore.configure was called twice for the app \(app), or after Firestore.firestore(): the first call holds."
    )
  }

  /// The app's database; after ``terminate(completion:)`` a new one.
  ///
  /// Without ``configure(_:app:)`` before, it stays offline, and an error is logged.
  public static func firestore() -> Firestore {
    directory.firestore(app: FirestoreDirectory.standardApp, database: nil)
  }

  /// A database of the app's project.
  ///
  /// The configuration's storage and transport belong to the database that it names. Another
  /// database uses the storage that `ConiferKit` gives it, or memory, and stays offline, which is
  /// logged as an error. To give it a storage and a transport, configure it as an app of its own
  /// with ``configure(_:app:)``.
  ///
  /// - Parameter database: the database's id.
  public static func firestore(database: String) -> Firestore {
    directory.firestore(app: FirestoreDirectory.standardApp, database: database)
  }

  /// The database of an app that was configured by name.
  ///
  /// - Parameter app: the name that ``configure(_:app:)`` gave it.
  public static func firestore(app: String) -> Firestore {
    directory.firestore(app: app, database: nil)
  }

  /// A database of an app that was configured by name; another one than its configuration names as in
  /// ``firestore(database:)``.
  ///
  /// - Parameters:
  ///   - app: the name that ``configure(_:app:)`` gave it.
  ///   - database: the database's id.
  public static func firestore(app: String, database: String) -> Firestore {
    directory.firestore(app: app, database: database)
  }

  /// Has all databases of the process log what they do in detail from now on, or only what their loggers ask
  /// for.
  ///
  /// - Parameter logging: whether to log in detail.
  public static func enableLogging(_ logging: Bool) {
    isVerbose.store(logging, ordering: .relaxed)
  }

  /// Whether databases log in detail.
  static let isVerbose = Atomic(false)

  /// The databases of this process.
  private static let directory = FirestoreDirectory(.current) { FirestoreEngine($0) }
}
