import Logging
import Synchronization

// The databases that an app reaches by the class, as on Apple: one that it configures once, and others
// by URL.
extension Database {
  private struct Shared {
    var main: Database?
    var others: [String: Database] = [:]
  }

  private static let shared = Mutex(Shared())

  /// Makes the database that ``database()`` gives; to be called once, before that is.
  ///
  /// Its persistence is off until `isPersistenceEnabled` is set, unless the configuration says.
  ///
  /// - Parameter configuration: what it is made with. A second call changes nothing, and is logged as
  ///   an error.
  public static func configure(_ configuration: DatabaseConfiguration) {
    let isFirst = shared.withLock { shared in
      guard shared.main == nil else { return false }
      shared.main = Database(asOnApple(configuration))
      return true
    }
    if !isFirst {
      configuration.logger.error(
        "Database.configure was called twice, or after Database.database(): the first call holds.")
    }
  }

  /// The app's common database.
  ///
  /// Without ``configure(_:)`` before, it is one in memory that stays offline, and an error is logged.
  public static func database() -> Database {
    let (database, isNew) = shared.withLock { shared in
      if let main = shared.main { return (main, false) }
      let main = Database(asOnApple(DatabaseConfiguration()))
      shared.main = main
      return (main, true)
    }
    if isNew {
      database.report(
        DatabaseError(
          .invalidConfiguration,
          "Database.database() was called before Database.configure: it is empty, in memory, and "
            + "stays offline.",
          remedy: "Call Database.configure when the app starts."))
    }
    return database
  }

  /// The app's database with a URL: the common one, or another that is made as that was, in memory.
  ///
  /// For another database that keeps its data, make one with `Database(configuration)` and a directory
  /// of its own.
  ///
  /// - Parameter url: such as `https://other.example.com`. One that makes no sense is logged as an
  ///   error, and gives the common database.
  public static func database(url: String) -> Database {
    let main = database()
    do throws(DatabaseError) {
      let place = try DatabaseURL(url)
      var configuration = main.configuration
      if place.namespace == configuration.namespace.lowercased(),
        place.host == configuration.host.lowercased()
      {
        return main
      }
      configuration.namespace = place.namespace
      configuration.host = place.host
      configuration.isSecure = place.isSecure
      configuration.storage = nil
      configuration.isPersistenceEnabled = false
      let name = "\(place.host) \(place.namespace)"
      return shared.withLock { shared in
        if let other = shared.others[name] { return other }
        let other = Database(configuration)
        shared.others[name] = other
        return other
      }
    } catch {
      main.report(error)
      return main
    }
  }

  private static func asOnApple(_ configuration: DatabaseConfiguration) -> DatabaseConfiguration {
    var configuration = configuration
    configuration.isPersistenceEnabled = configuration.isPersistenceEnabled ?? false
    return configuration
  }
}

extension Database {
  /// Forgets the databases that the class gives, for tests.
  static func forgetShared() { shared.withLock { $0 = Shared() } }
}
