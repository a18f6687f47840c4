#if Network
  import Conifer
  import ConiferServer
  import ConiferServerHTTP
  import ConiferStorage
  import ConiferTree
  import ConiferWebSocket
  import Dispatch
  import Logging
  import NetworkTestSupport
  import Synchronization
  import Testing

  /// A database's newest value at a place, and waiting for one.
  final class Watch: Sendable {
    private let newest = Mutex<Node?>(nil)

    init(_ query: DatabaseQuery) {
      query.observe(.value) { [weak self] snapshot in
        self?.newest.withLock { $0 = snapshot.node }
      }
    }

    var node: Node? { newest.withLock { $0 } }

    /// Returns when the value is as wanted; see `wait(for:)`.
    func wait(_ test: (Node) -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
      await ConiferWebSocketTests.wait(
        for: "another value than \(node.map { "\($0.estimatedSize) bytes" } ?? "none")",
        sourceLocation: sourceLocation
      ) { node.map(test) ?? false }
    }
  }

  /// Returns when a condition holds. When the suite's time limit ends the test before, which only a hang
  /// reaches, the test fails with what it waited for.
  func wait(
    for what: @autoclosure () -> String, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
  ) async rethrows {
    while try await !condition() {
      do {
        try await Task.sleep(for: .milliseconds(2))
      } catch {
        Issue.record("It waited for \(what()).", sourceLocation: sourceLocation)
        return
      }
    }
  }

  /// A server with its sockets, on a port of the loopback.
  struct Service {
    static let namespace = "test"

    let server: Server
    let http: HTTPServer
    let port: Int

    init(
      _ configuration: ServerConfiguration = ServerConfiguration(),
      limits: HTTPServerLimits = HTTPServerLimits()
    ) async throws {
      try await self.init(Server(Self.quiet(configuration)), limits)
    }

    /// A server that keeps its data.
    init(in backend: any StorageBackend) async throws {
      let server = Server(Self.quiet(ServerConfiguration()))
      try await server.open(Self.namespace, in: backend)
      try await self.init(server)
    }

    private init(
      _ server: Server, _ limits: HTTPServerLimits = HTTPServerLimits()
    ) async throws {
      self.server = server
      var configuration = HTTPServerConfiguration(host: "127.0.0.1", port: 0)
      configuration.logger.logLevel = .critical
      configuration.timeouts.stop = .zero
      configuration.limits = limits
      http = HTTPServer(server, configuration)
      port = try await http.start()
    }

    private static func quiet(_ configuration: ServerConfiguration) -> ServerConfiguration {
      var configuration = configuration
      configuration.logger.logLevel = .critical
      return configuration
    }

    var url: String { "ws://127.0.0.1:\(port)" }

    func data(_ path: Path = .root) -> Node { server.data(path, in: Self.namespace) }
  }

  /// A client, in memory unless it has storage.
  func client(
    _ url: String, speed: Int64 = 1, storage: StorageConfiguration? = nil,
    _ change: (inout DatabaseConfiguration) -> Void = { _ in }
  ) -> Database {
    var configuration = DatabaseConfiguration(
      namespace: Service.namespace, storage: storage, transport: .webSocket(url))
    configuration.clock = FastClock(speed)
    configuration.callbackQueue = .queue(DispatchQueue(label: "client"))
    configuration.logger.logLevel = .critical
    change(&configuration)
    return Database(configuration)
  }
#endif
