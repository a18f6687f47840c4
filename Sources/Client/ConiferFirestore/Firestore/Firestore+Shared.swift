import Logging
import Synchronization

// The databases that an app reaches by the class, as on Apple. What there an app's options file says, a
// configuration says here; an app that talks to several projects names each.
extension Firestore {
  /// Names what ``firestore()`` and its kin make databases with; to be called once for each app, before they
  /// are.
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
  /// The storage that the configuration names is that of the database that it names. Another one is kept
  /// where `ConiferKit` has it kept, or else in memory.
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

  /// A database of an app that was configured by name.
  ///
  /// - Parameters:
  ///   - app: the name that ``configure(_:app:)`` gave it.
  ///   - database: the database's id.
  public static func firestore(app: String, database: String) -> Firestore {
    directory.firestore(app: app, database: database)
  }

  /// Has databases that are made from now on log what they do in detail, or not.
  ///
  /// - Parameter logging: whether to.
  public static func enableLogging(_ logging: Bool) {
    isVerbose.store(logging, ordering: .relaxed)
  }

  /// Whether new databases log in detail.
  static let isVerbose = Atomic(false)

  /// Those of the process.
  private static let directory = FirestoreDirectory(.current) { FirestoreEngine($0) }
}
