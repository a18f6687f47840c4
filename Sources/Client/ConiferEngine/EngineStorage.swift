package import ConiferKeyValue
package import ConiferStorage
package import Logging

/// The storage backend of an engine while it is open, or why it is not, with the lane whose writes
/// the views show.
package final class EngineStorage {
  private enum State {
    case opening
    case open(any StorageBackend, Lane)
    case failed(DatabaseError)
    case closed
  }

  /// What is known of the locks of an open storage.
  private enum Locks {
    case held
    /// It must be resumed before it is used, and may hold some all the same.
    case unknown
    case released
  }

  private var state = State.opening
  /// How many reports of damage were logged.
  package private(set) var incidentCount = 0
  /// The position behind the last one of them.
  private var incidentPosition = IncidentPosition()
  /// What keeps it tidy while it is open; nil when nothing does.
  package private(set) var housekeeping: HousekeepingRunner?
  private var locks = Locks.held
  /// How often it was about to let go of them.
  package private(set) var suspensionCount = 0
  /// Whether another process may have changed it, and the views do not know yet.
  private var hasUnseenChanges = false
  private let logger: Logger
  /// The authority that has the data on disk, of a database without a server; opened and closed with the storage.
  private let authority: (any LocalAuthority)?

  package init(_ logger: Logger, authority: (any LocalAuthority)? = nil) {
    self.logger = logger
    self.authority = authority
  }

  /// The store that has the data of a database without a server; nil for one with a server.
  package var authorityStore: (backend: any StorageBackend, tree: TreeID)? { authority?.store }

  /// The storage that has what is read; that of the authority where there is one. Nil when it is not open.
  package var cachingBackend: (any StorageBackend)? { authority?.store?.backend ?? backend }

  /// The bytes of the medium that the cache takes; nil when that cannot be known now, or the storage never tells.
  package var cacheBytes: Int? {
    guard let evicting = cachingBackend as? any EvictingBackend else { return nil }
    return try? evicting.cacheSize()
  }

  /// The storage; nil when it is not open.
  package var backend: (any StorageBackend)? {
    guard case .open(let backend, _) = state else { return nil }
    return backend
  }

  /// The lane whose queue lies over the views; nil when it is not open.
  package var lane: Lane? {
    guard case .open(_, let lane) = state else { return nil }
    return lane
  }

  /// The tree of the database's data; 0, which no tree has, while it is not open.
  package var tree: TreeID { lane?.tree ?? TreeID(rawValue: 0) }

  /// The strongest durability that it has; `process` while it is not open.
  package var strongest: Durability { backend?.traits.store.strongest ?? .process }

  /// Whether it will never be open again.
  package var hasEnded: Bool {
    switch state {
    case .failed, .closed: true
    case .opening, .open: false
    }
  }

  /// Whether it must be resumed before it is used.
  package var isReleased: Bool { locks != .held }

  /// Whether it was closed.
  package var isClosed: Bool { if case .closed = state { true } else { false } }

  /// Why it is not open; meaningful only then.
  package var error: DatabaseError {
    switch state {
    case .failed(let error): error
    default: DatabaseError(.closed, "The database was closed.", remedy: closedRemedy)
    }
  }

  /// A queue in memory is gone.
  private var closedRemedy: String? {
    guard authority != nil else { return nil }
    return "Open the database again; what was not acknowledged is to be written again."
  }

  /// It is open.
  package func open(_ backend: any StorageBackend, _ lane: Lane) { state = .open(backend, lane) }

  /// Another lane's queue lies over the views from now on.
  package func show(_ lane: Lane) {
    if case .open(let backend, _) = state { state = .open(backend, lane) }
  }

  /// It could not be opened.
  package func fail(_ error: DatabaseError) {
    state = .failed(error)
    report(error)
  }

  /// It is closed; gives the backend that is to be.
  package func close() -> (any StorageBackend)? {
    housekeeping?.end()
    housekeeping = nil
    locks = .held
    defer { state = .closed }
    return backend
  }

  /// Reads it; nil when it is not open or cannot be read, which is logged.
  package func read<R>(_ body: (any StorageView, Lane) throws(StoreError) -> R) -> R? {
    guard let backend, let lane else { return nil }
    do throws(StoreError) {
      return try backend.read { (view) throws(StoreError) in try body(view, lane) }
    } catch {
      logger.error("storage could not be read", metadata: ["cause": "\(error)"])
      return nil
    }
  }

  /// Reads it, for work that cannot go on without the answer.
  ///
  /// - Throws: why it is not open, or could not be read.
  package func reading<R>(
    _ body: (any StorageView, Lane) throws(StoreError) -> R
  ) throws(DatabaseError) -> R {
    guard let backend, let lane else { throw error }
    do throws(StoreError) {
      return try backend.read { (view) throws(StoreError) in try body(view, lane) }
    } catch {
      throw DatabaseError(error, "The storage could not be read")
    }
  }

  /// Tells the log what went wrong.
  package func report(_ error: DatabaseError) {
    logger.error("\(error.message)", metadata: ["code": "\(error.code)"])
  }

  /// Logs what the storage set aside as damaged since the last call, and gives the trees of that; nil when it cannot be read.
  @discardableResult
  package func reportIncidents() -> Set<TreeID>? {
    let known = incidentPosition
    let new = read { (view, _) throws(StoreError) -> ([(String, TreeID)], IncidentPosition) in
      let position = try view.incidentPosition()
      // Their bytes may be too many for the memory.
      var reports: [(String, TreeID)] = []
      if position != known {
        try view.forEachIncident(after: known) { reports.append(($0.description, $0.tree)) }
      }
      return (reports, position)
    }
    guard let (reports, position) = new else { return nil }
    for (words, _) in reports {
      logger.error("storage was damaged", metadata: ["incident": "\(words)"])
    }
    incidentCount += reports.count
    incidentPosition = position
    return Set(reports.map(\.1))
  }
}

// The beginning and the end of a storage.
extension EngineStorage {
  /// Opens a storage; one that is damaged beyond its records is salvaged into a new one first, which is logged.
  ///
  /// - Throws: what kept it from being opened.
  package nonisolated(nonsending) func openBackend(
    _ configuration: StorageConfiguration
  ) async throws(StoreError) -> any StorageBackend {
    try await authority?.open()
    do throws(StoreError) {
      return try await openOwn(configuration)
    } catch {
      try? await authority?.close()
      throw error
    }
  }

  private nonisolated(nonsending) func openOwn(
    _ configuration: StorageConfiguration
  ) async throws(StoreError) -> any StorageBackend {
    let (backend, salvage) = try await configuration.openOrSalvage()
    if let salvage {
      logger.error("the store was damaged and salvaged", metadata: ["report": "\(salvage)"])
    }
    let options = configuration.options
    if let budget = options.budget, options.role == .cache, !(backend is any EvictingBackend) {
      logger.warning(
        "the storage keeps no budget, so that the cache grows with all that is read",
        metadata: ["storage": "\(backend.traits.name)", "budget": "\(budget)"])
    }
    return backend
  }

  /// Has the numbers of writes begin somewhere else in each run if an authority in this process has the data: a queue in
  /// memory knows nothing of those of the runs before, and the id of a lost write must not become another write's.
  ///
  /// - Throws: what keeps the storage from that.
  package nonisolated(nonsending) func reserveNumbers(
    in backend: any StorageBackend, _ lane: Lane, _ random: () -> UInt64
  ) async throws(StoreError) {
    guard authority != nil else { return }
    // 52 bits, so that far more writes than memory holds come before the highest number, 2^56 - 1.
    let last = WriteID(rawValue: max(1, random() >> 12))
    _ = try await backend.commit([.reserveWriteIDs(lane, through: last)])
  }

  /// Has the open storage kept tidy by itself, unless that is off.
  package func begin(_ housekeeping: Housekeeping, by clock: any EngineClock) {
    guard let backend, housekeeping == .automatic else { return }
    self.housekeeping = HousekeepingRunner(
      backend,
      clock: HousekeepingRunner.Clock(now: { clock.now }, wake: { clock.wake(at: $0, $1) })
    ) { [logger] error in
      logger.warning(
        "the storage could not be tidied; it is tried again later", metadata: ["cause": "\(error)"])
    }
  }

  /// Makes all commits durable and lets go of every lock, once no slice of housekeeping is under way.
  ///
  /// - Throws: what keeps it from being suspended. It goes on as before then, unless `isReleased` says that
  ///   it must be resumed all the same.
  package nonisolated(nonsending) func suspend() async throws(DatabaseError) {
    guard let backend else { throw error }
    await housekeeping?.suspend()
    do throws(DatabaseError) {
      try await release(backend)
    } catch {
      if !isReleased { housekeeping?.resume() }
      throw error
    }
  }

  /// Lets go of every lock that an earlier call, or resuming, may have left.
  ///
  /// - Throws: what keeps it from that.
  package nonisolated(nonsending) func releaseAgain() async throws(DatabaseError) {
    guard let backend, locks != .released else { return }
    try await release(backend)
  }

  /// Lets go of every lock, and notes whether it has.
  private nonisolated(nonsending) func release(
    _ backend: any StorageBackend
  ) async throws(DatabaseError) {
    suspensionCount += 1
    do throws(StoreError) {
      try await suspendAll(backend)
      locks = .released
    } catch {
      // A store may let go of its files before it fails: then it is suspended, and asking it again changes nothing.
      if (try? await suspendAll(backend)) != nil {
        locks = .released
      } else {
        locks = (try? await resumeAll(backend)) == nil ? .unknown : .held
      }
      throw DatabaseError(error, "The storage could not be suspended")
    }
  }

  /// Takes the locks again.
  ///
  /// - Parameter takeIn: reads what another process may have changed meanwhile; not called where none can have. When it
  ///   fails, the locks are let go of again.
  /// - Throws: what keeps it from being resumed; it stays suspended then.
  package nonisolated(nonsending) func resume(
    _ takeIn: () throws(DatabaseError) -> Void
  ) async throws(DatabaseError) {
    guard let backend else { throw error }
    do throws(StoreError) {
      if try await resumeAll(backend) { hasUnseenChanges = true }
    } catch {
      throw DatabaseError(error, "The storage could not be resumed")
    }
    locks = .held
    if hasUnseenChanges {
      do throws(DatabaseError) {
        try takeIn()
      } catch {
        try? await release(backend)
        throw error
      }
      hasUnseenChanges = false
    }
    housekeeping?.resume()
  }

  private nonisolated(nonsending) func suspendAll(
    _ backend: any StorageBackend
  ) async throws(StoreError) {
    try await backend.suspend()
    try await authority?.suspend()
  }

  private nonisolated(nonsending) func resumeAll(
    _ backend: any StorageBackend
  ) async throws(StoreError) -> Bool {
    // The authority may be refused, and the backend beside it, in memory, is not.
    try await authority?.resume()
    return try await backend.resumeNotingChanges()
  }

  /// Closes a backend, with everything in it made durable.
  package nonisolated(nonsending) func closeBackend(_ backend: any StorageBackend) async {
    do throws(StoreError) {
      try await backend.close()
    } catch {
      reportClosing(error)
    }
    do throws(StoreError) {
      try await authority?.close()
    } catch {
      reportClosing(error)
    }
  }

  private func reportClosing(_ error: StoreError) {
    report(DatabaseError(error, "The storage was not closed in order"))
  }
}
