#if GRPC
  public import ConiferDocumentServer
  import ConiferSockets
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import Logging
  import NIOCore
  public import ServiceLifecycle
  import Synchronization

  /// A server of documents as clients of Firestore's gRPC API reach it over HTTP/2, without encryption.
  ///
  /// It serves all databases of a `DocumentServer`, which may have other fronts too: all see one data. A client that does not
  /// read costs one moment of its listens, or 32 batches of its writes. All members may be called from any thread.
  public final class DocumentGRPCServer: Service {
    private struct Listener: Sendable {
      let server: GRPCCore.GRPCServer<HTTP2ServerTransport.Posix>
      let serving: Task<Void, any Error>
      let port: Int
    }

    private enum State {
      case idle
      case starting(Task<Result<[Listener], DocumentGRPCError>, Never>)
      case listening([Listener])
      /// The task ends when the last connection is closed.
      case stopping(Task<Void, Never>)
    }

    private let server: DocumentServer
    private let configuration: DocumentGRPCConfiguration
    private let calls: CallTable
    private let requests: RequestMemory
    private let connections = Mutex([ObjectIdentifier: any Channel]())
    private let state = Mutex(State.idle)

    /// The sockets of a server; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - server: the server that holds the data.
    ///   - configuration: the address, limits and timeouts.
    public init(
      _ server: DocumentServer, _ configuration: DocumentGRPCConfiguration = .init()
    ) {
      self.server = server
      self.configuration = configuration
      calls = CallTable(atMost: configuration.limits.calls)
      requests = RequestMemory(configuration.limits.requests)
    }

    /// The port at which it listens; nil while it does not.
    public var port: Int? {
      state.withLock {
        if case .listening(let listeners) = $0 { listeners.first?.port } else { nil }
      }
    }

    /// How many connections are open.
    public var connectionCount: Int { connections.withLock { $0.count } }

    /// How many calls are open.
    package var callCount: Int { calls.count }

    /// How many bytes of requests are being received, or wait to be read.
    package var requestBytes: Int { requests.count }

    /// Begins to listen.
    ///
    /// - Returns: the port.
    /// - Throws: `DocumentGRPCError` when it cannot listen at the address, or the server already ran.
    @discardableResult
    public func start() async throws(DocumentGRPCError) -> Int {
      let starting = state.withLock {
        state -> Task<Result<[Listener], DocumentGRPCError>, Never>? in
        guard case .idle = state else { return nil }
        let task = Task { () -> Result<[Listener], DocumentGRPCError> in
          do throws(DocumentGRPCError) { return .success(try await listen()) } catch {
            return .failure(error)
          }
        }
        state = .starting(task)
        return task
      }
      guard let starting else {
        throw DocumentGRPCError("The server is running or already ran. Make a new one.")
      }
      let result = await starting.value
      let isStopped = state.withLock { state in
        guard case .starting = state else { return true }
        if case .success(let listeners) = result {
          state = .listening(listeners)
        } else {
          state = .idle
        }
        return false
      }
      let listeners = try result.get()
      if isStopped {
        throw DocumentGRPCError("The server was stopped before it listened. Make a new one.")
      }
      return listeners.first?.port ?? configuration.port
    }

    /// Listens at the address of the configuration.
    private func listen() async throws(DocumentGRPCError) -> [Listener] {
      let host = configuration.host
      var listeners = [
        try await listen(host == "localhost" ? "127.0.0.1" : host, configuration.port)
      ]
      if host == "localhost", let port = listeners.first?.port {
        // A machine may have no IPv6 loopback, or the port may be in use there.
        do throws(DocumentGRPCError) { listeners.append(try await listen("::1", port)) } catch {
          configuration.logger.debug("Not listening at the other loopback: \(error)")
        }
      }
      return listeners
    }

    /// Listens until the surrounding service group shuts down gracefully, or the task is cancelled; then stops.
    public func run() async throws {
      let isListening = state.withLock { if case .listening = $0 { true } else { false } }
      if !isListening { try await start() }
      let listeners = state.withLock { state -> [Listener] in
        if case .listening(let listeners) = state { listeners } else { [] }
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await gracefulShutdown() }
        for listener in listeners {
          group.addTask {
            let result = await listener.serving.result
            if case .failure(let error) = result, !(error is CancellationError) {
              throw DocumentGRPCError("The server has stopped to listen: \(error)")
            }
          }
        }
        do {
          try await group.next()
          await stop()
        } catch {
          await stop(within: .zero)
          throw error
        }
        group.cancelAll()
      }
    }

    /// Accepts no more connections and calls, ends the streams as `UNAVAILABLE`, finishes the answers under way, and returns when
    /// every connection is closed, also when it was called before.
    public func stop() async { await stop(within: configuration.timeouts.stop) }

    private func stop(within limit: Duration) async {
      let stopping = state.withLock { state -> Task<Void, Never> in
        let task: Task<Void, Never>
        switch state {
        case .stopping(let task): return task
        case .idle: task = Task {}
        case .starting(let starting):
          task = Task { [self] in
            if case .success(let listeners) = await starting.value { await end(listeners, limit) }
          }
        case .listening(let listeners): task = Task { [self] in await end(listeners, limit) }
        }
        state = .stopping(task)
        return task
      }
      calls.stop()
      await stopping.value
    }

    /// Ends what listens and its connections; what lasts longer than a limit is cut.
    private func end(_ listeners: [Listener], _ limit: Duration) async {
      for listener in listeners { listener.server.beginGracefulShutdown() }
      let late = Task {
        try await Task.sleep(for: limit)
        // Cancelled, the transport would trap where a client begins a call just then.
        for channel in connections.withLock({ Array($0.values) }) { channel.close(promise: nil) }
      }
      for listener in listeners { _ = await listener.serving.result }
      late.cancel()
    }

    private func listen(_ host: String, _ port: Int) async throws(DocumentGRPCError) -> Listener {
      do {
        let transport = HTTP2ServerTransport.Posix(
          address: try Self.address(host, port), transportSecurity: .plaintext,
          config: transportConfiguration)
        let grpc = GRPCCore.GRPCServer(
          transport: transport,
          services: [
            FirestoreService(
              server: server, calls: calls, memory: requests)
          ])
        let serving = Task { try await grpc.serve() }
        do {
          let bound = try await transport.listeningAddress
          return Listener(
            server: grpc, serving: serving, port: bound.ipv4?.port ?? bound.ipv6?.port ?? port)
        } catch {
          // Why is what the serving says.
          try await serving.value
          throw error
        }
      } catch {
        throw DocumentGRPCError(
          "The server cannot listen at \(host):\(port): \(error). Choose another port or host.")
      }
    }

    /// The address of a host, which may be a name.
    private static func address(
      _ host: String, _ port: Int
    ) throws -> GRPCNIOTransportCore.SocketAddress {
      let found = try NIOCore.SocketAddress.makeAddressResolvingHost(host, port: port)
      let text = found.ipAddress ?? host
      if case .v6 = found { return .ipv6(host: text, port: port) }
      return .ipv4(host: text, port: port)
    }

    private var transportConfiguration: HTTP2ServerTransport.Posix.Config {
      let (limits, timeouts) = (configuration.limits, configuration.timeouts)
      var config = HTTP2ServerTransport.Posix.Config.defaults
      config.connection.maxIdleTime = timeouts.idle
      config.connection.keepalive.time = timeouts.keepAlive
      config.connection.keepalive.timeout = timeouts.keepAliveTimeout
      // Clients ask for signs of life also while they have no calls.
      config.connection.keepalive.clientBehavior = .init(
        minPingIntervalWithoutCalls: timeouts.ping, allowWithoutCalls: true)
      config.http2.maxConcurrentStreams = limits.callsOfConnection
      config.rpc.maxRequestPayloadSize = limits.message
      config.channelDebuggingCallbacks.onBindTCPListener = { ListeningSocketHandler.add(to: $0) }
      config.channelDebuggingCallbacks.onAcceptTCPConnection = { [self] in accept($0) }
      config.channelDebuggingCallbacks.onAcceptHTTP2Stream = { [requests] channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            RequestSizeHandler(requests, atMost: limits.message), position: .first)
        }
      }
      return config
    }

    /// Counts a connection, and closes one too many.
    private func accept(_ channel: any Channel) -> EventLoopFuture<Void> {
      let id = ObjectIdentifier(channel)
      let isTaken = connections.withLock { channels in
        guard channels.count < configuration.limits.connections else { return false }
        channels[id] = channel
        return true
      }
      guard isTaken else { return channel.close() }
      channel.closeFuture.whenComplete { [self] _ in
        connections.withLock { _ = $0.removeValue(forKey: id) }
      }
      // The transport asks for a sign of life and says goodbye, but waits for the other side to close.
      let silence = configuration.timeouts.keepAlive + configuration.timeouts.keepAliveTimeout
      return channel.eventLoop.submit {
        channel.keepFromChildren()
        try channel.pipeline.syncOperations.addHandlers(
          [IdleStateHandler(readTimeout: TimeAmount(silence)), IdleTimeoutHandler()],
          position: .first)
      }
    }
  }

  /// The error of a server that cannot listen, with the remedy.
  public struct DocumentGRPCError: Error, CustomStringConvertible {
    /// The cause and the remedy.
    public let message: String

    init(_ message: String) { self.message = message }

    /// What is wrong, and what to do about it.
    public var description: String { message }
  }
#endif
