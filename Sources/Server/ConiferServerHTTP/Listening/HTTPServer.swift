#if Network
  public import ConiferServer
  import ConiferSockets
  import Logging
  import NIOCore
  import NIOPosix
  public import ServiceLifecycle
  import Synchronization

  /// An HTTP and WebSocket server on one port: WebSockets of the Realtime Database's protocol at
  /// `/.ws`, and HTTP requests that responders answer.
  ///
  /// ``HTTPServerLimits`` bounds the memory for clients, and ``HTTPServerTimeouts`` every wait. A
  /// session ends with its socket, and its onDisconnect operations run then.
  public final class HTTPServer: Service {
    private enum State {
      case idle
      case listening([any Channel])
      case stopped
    }

    let server: Server
    let configuration: HTTPServerConfiguration
    let responders: [any HTTPResponder]
    let connections: ConnectionTable
    let namespaces: NamespaceTable
    let origins: OriginPolicy
    private let state = Mutex(State.idle)

    /// The sockets of a server; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - server: the server that holds the data; it may have other transports too.
    ///   - configuration: the address, limits and timeouts.
    ///   - responders: they answer requests; the first that has an answer gives it.
    public init(
      _ server: Server, _ configuration: HTTPServerConfiguration = HTTPServerConfiguration(),
      responders: [any HTTPResponder] = []
    ) {
      self.server = server
      self.configuration = configuration
      self.responders = responders
      connections = ConnectionTable(configuration.limits)
      namespaces = NamespaceTable(server, configuration)
      origins = OriginPolicy(origins: configuration.origins, host: configuration.host)
    }

    /// The port at which it listens; nil while it does not.
    public var port: Int? {
      state.withLock { state in
        if case .listening(let channels) = state { channels.first?.localAddress?.port } else { nil }
      }
    }

    /// How many connections are open.
    public var connectionCount: Int { connections.count }

    /// The databases that are in use or have something to keep, in no order.
    public var servedNamespaces: [String] { namespaces.names }

    /// Prepares a database before it is requested, and keeps it.
    ///
    /// - Throws: `HTTPServerError` when it cannot be served; the log says why.
    public func prepare(_ namespace: String) async throws(HTTPServerError) {
      guard NamespaceName.isValid(namespace) else {
        throw HTTPServerError(
          "\(namespace) is not a valid database name: use 1 to 100 of a-z, A-Z, 0-9, - and _.")
      }
      do throws(NamespaceTable.Failure) {
        try await namespaces.begin(namespace)
      } catch {
        throw HTTPServerError("The database \(namespace) cannot be served.")
      }
    }

    /// Begins to listen.
    ///
    /// - Returns: the port.
    /// - Throws: `HTTPServerError` when it cannot listen at the address, or the server already ran.
    @discardableResult
    public func start() async throws(HTTPServerError) -> Int {
      guard case .idle = state.withLock({ $0 }) else {
        throw HTTPServerError("The server is running or already ran. Make a new one.")
      }
      let channels = try await bind()
      state.withLock { $0 = .listening(channels) }
      return channels.first?.localAddress?.port ?? configuration.port
    }

    /// Listens until the surrounding service group shuts down gracefully, or the task is cancelled;
    /// then stops.
    public func run() async throws {
      if case .idle = state.withLock({ $0 }) { try await start() }
      do {
        try await gracefulShutdown()
      } catch {
        await stop(within: .zero)
        throw error
      }
      await stop()
    }

    /// Accepts no more connections, finishes the answers under way, ends the sessions, and returns
    /// when every connection is closed.
    ///
    /// Commits that the sessions' ends caused may still be in progress: see `Server.waitUntilIdle`.
    public func stop() async { await stop(within: configuration.timeouts.stop) }

    private func stop(within limit: Duration) async {
      let listening = state.withLock { state -> [any Channel] in
        defer { state = .stopped }
        if case .listening(let channels) = state { return channels }
        return []
      }
      for channel in listening { try? await channel.close() }
      let open = connections.stop()
      for channel in open {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      }
      let late = Task {
        try await Task.sleep(for: limit)
        for channel in open { channel.close(promise: nil) }
      }
      await connections.drained()
      late.cancel()
    }

    private func bind() async throws(HTTPServerError) -> [any Channel] {
      let isBoth = configuration.host == "localhost"
      let first = try await bind(isBoth ? "127.0.0.1" : configuration.host, configuration.port)
      guard isBoth, let port = first.localAddress?.port else { return [first] }
      // A machine may have no IPv6 loopback, or the port may be in use there.
      do throws(HTTPServerError) {
        return [first, try await bind("::1", port)]
      } catch {
        configuration.logger.debug("Not listening at the other loopback: \(error)")
        return [first]
      }
    }

    private func seconds(_ time: Duration) -> Int {
      Int(Int32(clamping: max(1, time.components.seconds)))
    }

    private func bind(_ host: String, _ port: Int) async throws(HTTPServerError) -> any Channel {
      let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 256)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .serverChannelInitializer { ListeningSocketHandler.add(to: $0) }
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelOption(.socketOption(.so_keepalive), value: 1)
        .childChannelOption(
          .tcpOption(.keepAliveIdle), value: seconds(configuration.timeouts.keepAlive)
        )
        .childChannelOption(
          .tcpOption(.keepAliveInterval), value: seconds(configuration.timeouts.probe)
        )
        .childChannelOption(.tcpOption(.keepAliveCount), value: 3)
        // A client may close its sending side and still read; a client that is gone is noticed
        // anyway.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try self.configure(channel) }
        }
      do {
        return try await bootstrap.bind(host: host, port: port).get()
      } catch {
        throw HTTPServerError(
          "The server cannot listen at \(host):\(port): \(error). Choose another port or host.")
      }
    }
  }

  /// The error of a server that cannot listen, with the remedy.
  public struct HTTPServerError: Error, CustomStringConvertible {
    /// The cause and the remedy.
    public let message: String

    init(_ message: String) { self.message = message }

    /// What is wrong, and what to do about it.
    public var description: String { message }
  }
#endif
