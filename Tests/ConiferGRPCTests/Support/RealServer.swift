#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferEngine
  import ConiferFirestore
  import ConiferGRPC
  import ConiferServerGRPC
  import ConiferStorage
  import Synchronization

  /// A server that speaks Firestore's protocol over a socket: Conifer's own, and the vendor's emulator.
  enum RealServer: Sendable, CaseIterable, CustomStringConvertible {
    case own, emulator

    /// Those that there are on this machine.
    static var installed: [RealServer] { Emulator.isInstalled ? allCases : [.own] }

    var description: String { self == .own ? "Conifer's server" : "the vendor's emulator" }

    /// Where it listens; one serves all tests.
    func port() async throws -> Int {
      switch self {
      case .emulator: try await Emulator.shared().port
      case .own: try await Self.shared.port()
      }
    }

    private static let shared = SharedServer()
  }

  /// Conifer's server for tests that need none of their own.
  private actor SharedServer {
    private var starting: Task<(DocumentGRPCServer, Int), any Error>?

    func port() async throws -> Int {
      let task =
        starting
        ?? Task {
          let server = DocumentGRPCServer(
            try DocumentServer(), DocumentGRPCConfiguration(host: "127.0.0.1", port: 0))
          return (server, try await server.start())
        }
      starting = task
      return try await task.value.1
    }
  }

  /// An app's database on a server, and what passed to it.
  struct RealApp {
    let db: Firestore
    let log = CountingService.Log()

    init(
      on server: RealServer, _ database: DatabaseID, storage: StorageConfiguration = .memory(),
      clock: any EngineClock = PatientClock()
    ) async throws {
      try self.init(at: await server.port(), database, storage: storage, clock: clock)
    }

    init(
      at port: Int, _ database: DatabaseID, storage: StorageConfiguration = .memory(),
      clock: any EngineClock = PatientClock(), tokens: (any TokenProvider)? = nil
    ) throws {
      // No load of the machine ends an attempt.
      let base = try service(port, database) { $0.openTimeout = .seconds(600) }
      db = firestore(
        CountingService(base: base, log: log), database, clock: clock, storage: storage,
        tokens: tokens)
    }
  }
#endif
