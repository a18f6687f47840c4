package import ConiferDocument
import ConiferDocumentSync
import Logging
import Synchronization

/// A database of documents that many share, the same online and offline.
///
/// It may be used from any thread. Its calls that bear the Apple SDK's names return at once, never
/// throw and never trap: what is wrong is told to the completion block, the listener or the receipt,
/// and to the log where there is none of them. The async forms wait for the server, and throw.
public final class Firestore: Sendable {
  /// How far its life has come.
  private enum Phase {
    /// Settings may change.
    case unused
    case running(any DocumentEngine)
    case terminated
  }

  private struct State {
    var configuration: FirestoreConfiguration
    var phase = Phase.unused
  }

  private let state: Mutex<State>
  private let makeEngine: @Sendable (FirestoreConfiguration) -> any DocumentEngine
  /// What is used where the configuration names nothing; nil for nothing.
  private let defaults: FirestoreDefaults?
  private let lastListener = Atomic<ListenerID>(0)
  /// The database that references point into.
  package let database: DatabaseID

  /// A database; it opens its store and connects when it is first used.
  ///
  /// What makes no sense in the configuration is logged as an error, and told by every call;
  /// ``FirestoreConfiguration/validate()`` tells before. Two databases that are open at once have each a
  /// storage of their own.
  public convenience init(_ configuration: FirestoreConfiguration) {
    self.init(configuration) { FirestoreEngine($0) }
  }

  init(
    _ configuration: FirestoreConfiguration, defaults: FirestoreDefaults? = nil,
    makeEngine: @escaping @Sendable (FirestoreConfiguration) -> any DocumentEngine
  ) {
    var configuration = configuration
    if Self.isVerbose.load(ordering: .relaxed) { configuration.logger.logLevel = .debug }
    state = Mutex(State(configuration: configuration))
    database = DatabaseID(
      project: configuration.projectID, database: configuration.databaseID)
    self.defaults = defaults
    self.makeEngine = makeEngine
    if let fault = configuration.fault { report(fault) }
  }

  /// What is used where the configuration names nothing.
  func completed() -> FirestoreConfiguration {
    var configuration = configuration
    defaults?.complete(&configuration)
    return configuration
  }

  /// What it was made with, and the settings as they are.
  public var configuration: FirestoreConfiguration { state.withLock { $0.configuration } }

  /// Changes the configuration before the first use.
  ///
  /// What makes no sense, or comes too late, changes nothing and is logged as an error.
  func configure(
    _ name: String, _ change: (inout FirestoreConfiguration) throws(FirestoreError) -> Void
  ) {
    let fault = state.withLock { state -> FirestoreError? in
      guard case .unused = state.phase else {
        return FirestoreError(
          .failedPrecondition,
          "\(name) was set after the database was used; it stays as it is. Set it before anything "
            + "else is asked of the database.")
      }
      var changed = state.configuration
      do throws(FirestoreError) {
        try change(&changed)
        try changed.validate()
      } catch { return error }
      state.configuration = changed
      return nil
    }
    if let fault { report(fault) }
  }
}

// The engine, and what is told without it.
extension Firestore {
  /// Makes the engine unless that was done: from now on settings stay as they are.
  func begin() { _ = try? engine() }

  /// The engine; the first call makes it.
  ///
  /// - Throws: `failedPrecondition` when the database was terminated, `invalidArgument` when its
  ///   configuration makes no sense.
  func engine() throws(FirestoreError) -> any DocumentEngine {
    let (result, isNew) = state.withLock {
      state -> (Result<any DocumentEngine, FirestoreError>, Bool) in
      switch state.phase {
      case .running(let engine): return (.success(engine), false)
      case .terminated:
        return (
          .failure(
            FirestoreError(
              .failedPrecondition,
              "The database has been terminated. Take another one from Firestore.firestore(), or make "
                + "one.")), false
        )
      case .unused:
        if let fault = state.configuration.fault { return (.failure(fault), false) }
        defaults?.complete(&state.configuration)
        let engine = makeEngine(state.configuration)
        state.phase = .running(engine)
        return (.success(engine), true)
      }
    }
    if isNew { reportMissingServer() }
    return try result.get()
  }

  /// An app that has a storage without naming one may take the server for as given.
  private func reportMissingServer() {
    let configuration = configuration
    if configuration.host != nil, configuration.effectiveTransport == nil {
      report(
        FirestoreError(
          .failedPrecondition,
          "Nothing leads to the host \(configuration.host ?? ""): the database stays offline. Give "
            + "the configuration a transport that reaches hosts."))
    } else if defaults != nil, configuration.transport == nil {
      report(
        FirestoreError(
          .failedPrecondition,
          "No server is named: the database stays offline. Call Firestore.configure when the app "
            + "starts, or useEmulator."))
    }
  }

  /// Ends the engine's work; false when that was done, or there was none.
  func end() -> (any DocumentEngine)? {
    state.withLock { state in
      defer { state.phase = .terminated }
      if case .running(let engine) = state.phase { return engine }
      return nil
    }
  }

  /// Whether no engine is at work: the database was not used yet, or was terminated.
  var isAtRest: Bool {
    state.withLock { if case .running = $0.phase { false } else { true } }
  }

  /// Whether it was terminated.
  var isTerminated: Bool {
    state.withLock { if case .terminated = $0.phase { true } else { false } }
  }

  /// A number for a new listener.
  func nextListener() -> ListenerID {
    lastListener.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// Tells the log what nobody else is told.
  func report(_ error: FirestoreError) {
    configuration.logger.error("\(error.message)", metadata: ["code": "\(error.code)"])
  }

  /// Runs work on the callback queue.
  func deliver(_ work: @escaping @Sendable () -> Void) { configuration.callbackQueue.async(work) }
}

extension Firestore: Hashable {
  /// Whether both are one object.
  public static func == (a: Firestore, b: Firestore) -> Bool { a === b }

  /// Feeds which object it is.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
