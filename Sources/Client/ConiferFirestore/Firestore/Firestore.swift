package import ConiferDocument
import ConiferDocumentSync
import Logging
import Synchronization

/// A client of one database of shared documents, for reads, writes and listeners that work the same
/// online and offline.
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
    /// Its last use of the storage; nil when there was none.
    var lastUse: StorageUse?
    /// Closures to call when the database is terminated.
    var waiting: [ListenerID: @Sendable () -> Void] = [:]
  }

  private let state: Mutex<State>
  private let uses: StorageUses
  private let makeEngine: @Sendable (FirestoreConfiguration) -> any DocumentEngine
  /// What is used where the configuration names nothing; nil for nothing.
  private let defaults: FirestoreDefaults?
  private let lastListener = Atomic<ListenerID>(0)
  /// The database that references point into.
  package let database: DatabaseID

  /// A database; it opens its store and connects when it is first used.
  ///
  /// What is invalid in the configuration is logged as an error, and told by every call;
  /// ``FirestoreConfiguration/validate()`` tells before. Two databases that are open at once have each a
  /// storage of their own.
  public convenience init(_ configuration: FirestoreConfiguration) {
    self.init(configuration) { FirestoreEngine($0) }
  }

  /// A database.
  ///
  /// - Parameters:
  ///   - configuration: what it is made with.
  ///   - defaults: what is used where the configuration names nothing.
  ///   - uses: those of the storage, by databases before and after this one, too.
  ///   - makeEngine: makes the engine.
  init(
    _ configuration: FirestoreConfiguration, defaults: FirestoreDefaults? = nil,
    uses: StorageUses = StorageUses(),
    makeEngine: @escaping @Sendable (FirestoreConfiguration) -> any DocumentEngine
  ) {
    var configuration = configuration
    configuration.logger = VerboseLogHandler.logger(configuration.logger) {
      Self.isVerbose.load(ordering: .relaxed)
    }
    let mistakes = configuration.leaveOutServer()
    state = Mutex(State(configuration: configuration))
    self.uses = uses
    database = DatabaseID(
      project: configuration.projectID, database: configuration.databaseID)
    self.defaults = defaults
    self.makeEngine = makeEngine
    if let fault = configuration.fault { report(fault) }
    for mistake in mistakes { report(mistake) }
  }

  /// The configuration with the default storage and transport filled in where it names none.
  func completed() -> FirestoreConfiguration {
    var configuration = configuration
    defaults?.complete(&configuration)
    return configuration
  }

  /// What it was made with, and the settings as they are.
  public var configuration: FirestoreConfiguration { state.withLock { $0.configuration } }

  /// Changes the configuration before the first use.
  ///
  /// What is invalid, or comes too late, changes nothing and is logged as an error.
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
  ///   configuration is invalid.
  func engine() throws(FirestoreError) -> any DocumentEngine {
    let (result, isNew) = state.withLock {
      state -> (Result<any DocumentEngine, FirestoreError>, Bool) in
      switch state.phase {
      case .running(let engine): return (.success(engine), false)
      case .terminated: return (.failure(.terminated), false)
      case .unused:
        if let fault = state.configuration.fault { return (.failure(fault), false) }
        defaults?.complete(&state.configuration)
        var configuration = state.configuration
        if let use = uses.beginEngine() {
          configuration.storage = configuration.storage?.opened(after: use)
        }
        let engine = makeEngine(configuration)
        state.phase = .running(engine)
        return (.success(engine), true)
      }
    }
    if isNew {
      reportMissingServer()
      reportMissingStorage()
    }
    return try result.get()
  }

  /// Logs an error when the configured host has no transport, or when the app has the default
  /// storage and no transport.
  private func reportMissingServer() {
    let configuration = configuration
    guard configuration.localAuthority == nil else { return }
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

  /// Logs a warning when the configuration asks for a persistent cache and names no storage.
  private func reportMissingStorage() {
    let configuration = configuration
    guard case .persistent = configuration.cache, configuration.storage == nil else { return }
    configuration.logger.warning(
      """
      No storage is named: documents and writes that wait are lost when the process ends. Give the configuration \
      a storage, or import ConiferKit.
      """)
  }

  /// Ends the engine's work and begins its last use of the storage.
  ///
  /// - Returns: the engine that is to end, nil when that was asked for before or there was none; and what
  ///   uses the storage until then, nil for nothing.
  func end() -> (engine: (any DocumentEngine)?, use: StorageUse?) {
    let (engine, use, waiting) = state.withLock { state in
      defer {
        state.phase = .terminated
        state.waiting = [:]
      }
      let waiting = Array(state.waiting.values)
      guard case .running(let engine) = state.phase else {
        return (nil as (any DocumentEngine)?, state.lastUse, waiting)
      }
      let use = uses.endEngine()
      state.lastUse = use
      return (engine, use, waiting)
    }
    for tell in waiting { tell() }
    return (engine, use)
  }

  /// Has a closure called when the database is terminated, at once when it was.
  ///
  /// - Returns: what ``forget(_:)`` takes.
  func whenTerminated(_ tell: @escaping @Sendable () -> Void) -> ListenerID {
    let id = nextListener()
    let isTerminated = state.withLock { state in
      if case .terminated = state.phase { return true }
      state.waiting[id] = tell
      return false
    }
    if isTerminated { tell() }
    return id
  }

  /// Nobody waits under this number any more.
  func forget(_ id: ListenerID) { state.withLock { _ = $0.waiting.removeValue(forKey: id) } }

  /// Begins a use of the storage without an engine, after the previous use. Later uses, such as a
  /// new engine, wait until this one ends.
  ///
  /// - Throws: `failedPrecondition` while an engine is at work, that of a database which took the place of this one, too.
  func beginClearing() throws(FirestoreError) -> (before: StorageUse?, use: StorageUse) {
    let begun = state.withLock { state in
      let begun = uses.beginRemoval()
      if let begun { state.lastUse = begun.use }
      return begun
    }
    if let begun { return begun }
    throw FirestoreError(
      .failedPrecondition,
      "What is kept cannot be removed while the database is used. Call terminate first, or this "
        + "before anything else.")
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
