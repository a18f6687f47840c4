#if Network
  import ConiferServer
  import Logging
  import Synchronization

  /// The databases that are in use or not empty, each prepared before its first use.
  ///
  /// An unused database without anything to keep is dropped at once, so made-up names take memory
  /// only while they are in use.
  final class NamespaceTable: Sendable {
    /// Why a database is not served.
    enum Failure: Error {
      case tooMany
      case notReady
    }

    private struct Entry: Sendable {
      enum Phase: Sendable {
        case preparing(Task<Bool, Never>)
        case ready
      }

      var phase: Phase
      /// The requests and connections that use it.
      var users = 1
      /// Whether other code already serves it, without this table.
      let isForeign: Bool
    }

    private struct State: Sendable {
      var entries: [String: Entry] = [:]
      /// When all were last checked.
      var swept: ContinuousClock.Instant?
    }

    private let server: Server
    private let limit: Int
    private let logger: Logger
    private let prepare: (@Sendable (String) async throws -> Void)?
    private let state = Mutex(State())

    init(_ server: Server, _ configuration: HTTPServerConfiguration) {
      self.server = server
      limit = configuration.limits.namespaces
      logger = configuration.logger
      prepare = configuration.prepare
    }

    /// The databases that are served, in no order.
    var names: [String] {
      state.withLock { state in
        state.entries.compactMap { if case .ready = $0.value.phase { $0.key } else { nil } }
      }
    }

    /// Begins to use a database; returns when it may be served.
    ///
    /// - Parameter name: a valid name.
    /// - Throws: when there are too many, or it cannot be prepared; the next call tries again.
    ///   After success the caller must call `end` once.
    func begin(_ name: String) async throws(Failure) {
      let phase = state.withLock { state -> Entry.Phase? in
        if let entry = state.entries[name] {
          state.entries[name]?.users += 1
          return entry.phase
        }
        if state.entries.count >= limit { sweep(&state) }
        if state.entries.count >= limit { return nil }
        // Checked before the preparation, which may create it.
        let isForeign = server.serves(name)
        let phase =
          prepare.map { prepare in Entry.Phase.preparing(Task { await run(prepare, name) }) }
          ?? .ready
        state.entries[name] = Entry(phase: phase, isForeign: isForeign)
        return phase
      }
      switch phase {
      case .ready: return
      case .preparing(let task): if await !task.value { throw .notReady }
      case nil: throw .tooMany
      }
    }

    /// Ends a use.
    func end(_ name: String) {
      state.withLock { state in
        state.entries[name]?.users -= 1
        if let entry = state.entries[name] { forget(name, entry, &state) }
      }
    }

    /// Drops an unused database that has nothing to keep.
    private func forget(_ name: String, _ entry: Entry, _ state: inout State) {
      guard case .ready = entry.phase, entry.users == 0, !entry.isForeign, server.forget(name)
      else { return }
      state.entries[name] = nil
    }

    /// Checks all unused databases, as one that had something to keep may be empty by now. At most
    /// once a second, as it takes long.
    private func sweep(_ state: inout State) {
      let now = ContinuousClock.now
      if let swept = state.swept, now - swept < .seconds(1) { return }
      state.swept = now
      for (name, entry) in state.entries where entry.users == 0 { forget(name, entry, &state) }
    }

    private func run(_ prepare: @Sendable (String) async throws -> Void, _ name: String) async
      -> Bool
    {
      do {
        try await prepare(name)
        server.markPrepared(name)
        state.withLock { $0.entries[name]?.phase = .ready }
        return true
      } catch {
        logger.error("The database \(name) cannot be served: \(error)")
        state.withLock { $0.entries[name] = nil }
        return false
      }
    }
  }
#endif
