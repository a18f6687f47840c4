import Logging
import Synchronization

// The databases that an app reaches by the class, as on Apple.
extension Database {
  /// Makes the database that ``database()`` gives; to be called once, before that is.
  ///
  /// Its persistence is off until `isPersistenceEnabled` is set, unless the configuration says.
  ///
  /// - Parameter configuration: what it is made with. A second call changes nothing, and is logged as
  ///   an error.
  public static func configure(_ configuration: DatabaseConfiguration) {
    if DatabaseDirectory.common.configure(configuration) { return }
    reportSecondConfiguration(configuration.logger)
  }

  /// Makes the database that ``database()`` gives, of a URL.
  package static func configureCommon(url: String) {
    let logger = DatabaseConfiguration().logger
    do throws(DatabaseError) {
      if try DatabaseDirectory.common.configure(url: url) { return }
      reportSecondConfiguration(logger)
    } catch {
      logger.error("\(error.message)", metadata: ["code": "\(error.code)"])
    }
  }

  private static func reportSecondConfiguration(_ logger: Logger) {
    logger.error(
      "Database.configure was called twice, or after Database.database(): the first call holds.")
  }

  /// The app's common database.
  ///
  /// Without ``configure(_:)`` before, it stays offline, and an error is logged.
  public static func database() -> Database { DatabaseDirectory.common.main }

  /// The app's database with a URL: the common one, or another that is made as that was.
  ///
  /// One of another host has a connection of its own there, of the same kind; where the transport knows
  /// no other hosts, it stays offline, and an error is logged.
  ///
  /// It is in memory until ``isPersistenceEnabled`` is set, for which `ConiferKit` gives each database a
  /// directory. Without `ConiferKit`, a database that keeps its data is made with
  /// `Database(configuration)` and a directory of its own.
  ///
  /// - Parameter url: such as `https://other.example.com`. One that is invalid is logged as an
  ///   error, and gives the common database.
  public static func database(url: String) -> Database { DatabaseDirectory.common.database(url) }

  /// Sets whether databases that are made after this call log in detail.
  ///
  /// - Parameter enabled: whether to.
  public static func setLoggingEnabled(_ enabled: Bool) {
    DatabaseDirectory.isVerbose.store(enabled, ordering: .relaxed)
  }

  /// The version of Conifer.
  public static func sdkVersion() -> String { "unreleased" }
}
