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

  init() {}

  /// Makes the main database; false when there is one already.
  func configure(_ configuration: DatabaseConfiguration) -> Bool {
    state.withLock { state in
      guard state.main == nil else { return false }
      state.main = Database(Self.asOnApple(configuration))
      return true
    }
  }

  /// The main database; without a configuration one in memory, which is logged as an error.
  var main: Database {
    let (main, isNew) = state.withLock { state in
      if let main = state.main { return (main, false) }
      let main = Database(Self.asOnApple(DatabaseConfiguration()))
      state.main = main
      return (main, true)
    }
    if isNew {
      main.report(
        DatabaseError(
          .invalidConfiguration,
          "Database.database() was called before Database.configure: it is empty, in memory, and "
            + "stays offline.",
          remedy: "Call Database.configure when the app starts."))
    }
    return main
  }

  /// The database with a URL: the main one, or another that is made as that was, in memory.
  func database(_ url: String) -> Database {
    let main = main
    let place: DatabaseURL
    do throws(DatabaseError) {
      place = try DatabaseURL(url)
    } catch {
      main.report(error)
      return main
    }
    var configuration = main.configuration
    let isMain = configuration.host.lowercased() == place.host
    if isMain, configuration.namespace.lowercased() == place.namespace { return main }
    configuration.namespace = place.namespace
    configuration.host = place.host
    configuration.isSecure = place.isSecure
    configuration.storage = nil
    configuration.isPersistenceEnabled = false
    if !isMain {
      // The main one's way leads to the main one's host.
      configuration.transport = configuration.transport?.leading(
        to: place.host, isSecure: place.isSecure)
    }
    let name = "\(place.host) \(place.namespace)"
    let (other, isNew) = state.withLock { state in
      if let other = state.others[name] { return (other, false) }
      let other = Database(configuration)
      state.others[name] = other
      return (other, true)
    }
    if isNew, configuration.transport == nil, main.configuration.transport != nil {
      other.report(
        DatabaseError(
          .invalidConfiguration,
          "The transport of the common database does not lead to \(place.host): the database of "
            + "that host stays offline.",
          remedy: "Make it with Database(configuration) and a transport of its own."))
    }
    return other
  }

  private static func asOnApple(_ configuration: DatabaseConfiguration) -> DatabaseConfiguration {
    var configuration = configuration
    configuration.isPersistenceEnabled = configuration.isPersistenceEnabled ?? false
    return configuration
  }
}
