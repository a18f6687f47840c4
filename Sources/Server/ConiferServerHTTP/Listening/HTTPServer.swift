#if Network
  public import ConiferServer
  import Logging
  import NIOCore
  import NIOPosix
  public import ServiceLifecycle
  import Synchronization

  /// A server's sockets: one port for the WebSockets of the Realtime Database's protocol, at `/.ws`,
  /// and for the requests that responders answer.
  ///
  /// All that it holds for its clients is bounded by ``HTTPServerLimits``, and every wait by
  /// ``HTTPServerTimeouts``. A socket's end is the end of its session, so that what was to happen at
  /// the disconnect happens.
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
    ///   - server: what holds the data; it may serve others beside.
    ///   - configuration: where to listen, and how much to bear.
    ///   - responders: what answers requests; the first that has an answer gives it.
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

    /// The port that it listens at; nil while it does not.
    public var port: Int? {
      state.withLock { state in
        if case .listening(let channels) = state { channels.first?.localAddress?.port } else { nil }
      }
    }

    /// How many connections are open.
    public var connectionCount: Int { connections.count }

    /// The databases that are in use or have something to keep, in no order.
    public var servedNamespaces: [String] { namespaces.names }

    /// Makes a database ready before anybody asks for it, and keeps it.
    ///
    /// - Throws: `HTTPServerError` when it cannot be served; the log says why.
    public func prepare(_ namespace: String) async throws(HTTPServerError) {
      guard NamespaceName.isValid(namespace) else {
        throw HTTPServerError(
          "\(namespace) is no database's name: 1 to 100 of a-z, A-Z, 0-9, - and _.")
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
    /// - Throws: `HTTPServerError` when the address cannot be listened at, or the server ran already.
    @discardableResult
    public func start() async throws(HTTPServerError) -> Int {
      guard case .idle = state.withLock({ $0 }) else {
        throw HTTPServerError("The server runs, or ran already: make a new one.")
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

    /// Takes no more connections, lets answers under way be given, ends the sessions, and returns when
    /// every connection is closed.
    ///
    /// What the sessions' ends bring about may still be in the stores' hands: see `Server.settle`.
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
      // A machine may be without the newer loopback, or the port may be taken there.
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
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelOption(.socketOption(.so_keepalive), value: 1)
        .childChannelOption(
          .tcpOption(.keepAliveIdle), value: seconds(configuration.timeouts.keepAlive)
        )
        .childChannelOption(
          .tcpOption(.keepAliveInterval), value: seconds(configuration.timeouts.probe)
        )
        .childChannelOption(.tcpOption(.keepAliveCount), value: 3)
        // A client may be done with sending and still read; who means to go is noticed all the same.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try self.configure(channel) }
        }
      do {
        return try await bootstrap.bind(host: host, port: port).get()
      } catch {
        throw HTTPServerError(
          "\(host):\(port) cannot be listened at: \(error). Choose another port or host.")
      }
    }
  }

  /// Why a server does not listen.
  public struct HTTPServerError: Error, CustomStringConvertible {
    /// What is wrong, and what to do about it.
    public let message: String

    init(_ message: String) { self.message = message }

    /// What is wrong, and what to do about it.
    public var description: String { message }
  }
#endif
