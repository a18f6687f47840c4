#if Network
  import Logging
  import Synchronization

  /// The databases that were asked for, each made ready once.
  final class NamespaceTable: Sendable {
    /// Why a database is not served.
    enum Failure: Error {
      case tooMany
      case notReady
    }

    private enum Entry: Sendable {
      case ready
      case preparing(Task<Bool, Never>)
    }

    private let limit: Int
    private let logger: Logger
    private let prepare: (@Sendable (String) async throws -> Void)?
    private let entries = Mutex<[String: Entry]>([:])

    init(_ configuration: HTTPServerConfiguration) {
      limit = configuration.limits.namespaces
      logger = configuration.logger
      prepare = configuration.prepare
    }

    /// The databases that are served, in no order.
    var names: [String] {
      entries.withLock { entries in
        entries.compactMap { if case .ready = $0.value { $0.key } else { nil } }
      }
    }

    /// Returns when a database may be served.
    ///
    /// - Parameter name: a valid name.
    /// - Throws: when there are too many, or it cannot be made ready; the next call tries again.
    func ready(_ name: String) async throws(Failure) {
      let entry = entries.withLock { entries -> Entry? in
        if let entry = entries[name] { return entry }
        if entries.count >= limit { return nil }
        let entry = prepare.map { prepare in Entry.preparing(Task { await run(prepare, name) }) }
        entries[name] = entry ?? .ready
        return entry ?? .ready
      }
      switch entry {
      case .ready: return
      case .preparing(let task): if await !task.value { throw .notReady }
      case nil: throw .tooMany
      }
    }

    private func run(_ prepare: @Sendable (String) async throws -> Void, _ name: String) async
      -> Bool
    {
      do {
        try await prepare(name)
        entries.withLock { $0[name] = .ready }
        return true
      } catch {
        logger.error("The database \(name) cannot be served: \(error)")
        entries.withLock { $0[name] = nil }
        return false
      }
    }
  }
#endif
