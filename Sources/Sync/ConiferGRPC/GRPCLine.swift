#if GRPC
  import ConiferWire
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import Synchronization

  /// The connection to a server that all calls share: made when the first one needs it, and anew after it failed.
  ///
  /// gRPC would wait by itself before it connects again. When a call is tried again is the engine's decision, so each
  /// attempt after a failure has a channel of its own, which connects at once.
  final class GRPCLine: Sendable {
    let address: GRPCAddress
    /// The app's own tokens; nil for none.
    let appTokens: AppCheckTokens?
    /// Waits for so long, or until the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void
    private let options: GRPCOptions
    private let interceptors: [any ClientInterceptor]

    /// How many bytes of a stream may come that nobody has read. SwiftNIO doubles it for a stream that begins before the
    /// server has acknowledged the client's settings, and reads on while what was read last waits here: it may hold four
    /// times as much.
    private static let window = 2 << 20

    private let channelNow = Mutex<GRPCChannel?>(nil)

    init(
      _ address: GRPCAddress, _ options: GRPCOptions, _ appTokens: AppCheckTokens?,
      _ interceptors: [any ClientInterceptor],
      sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
      self.appTokens = appTokens
      self.interceptors = interceptors
      self.sleep = sleep
      self.address = address
      self.options = options
    }

    /// How long a call may wait for the server to take it.
    var openTimeout: Duration { options.openTimeout }

    /// How long a stream that was closed may take to end.
    var linger: Duration { options.linger }

    /// The error of a call that the server did not take in time.
    var unopened: StatusError {
      StatusError(
        .unavailable,
        "The server at \(address) took the connection and did not answer. The client tries again by itself."
      )
    }

    deinit { channelNow.withLock { $0 }?.fail() }

    /// The channel that calls use now.
    ///
    /// - Throws: `unavailable` when the certificates cannot be used.
    func channel() throws(StatusError) -> GRPCChannel {
      let result = channelNow.withLock { now -> Result<GRPCChannel, StatusError> in
        if let now { return .success(now) }
        do {
          let connections = OpenConnections()
          let client = GRPCClient(
            transport: try transport(connections), interceptors: interceptors)
          let made = GRPCChannel(client, connections)
          now = made
          return .success(made)
        } catch {
          return .failure(
            StatusError(
              .unavailable,
              "A connection to \(address) cannot be made. Check the certificates that are trusted. "
                + "\(error)"))
        }
      }
      return try result.get()
    }

    /// A call failed since its channel has no connection: the next one has another channel.
    func failed(_ channel: GRPCChannel) {
      let isNewest = channelNow.withLock { now in
        guard now === channel else { return false }
        now = nil
        return true
      }
      if isNewest { channel.fail() }
    }

    private func transport(
      _ connections: OpenConnections
    ) throws -> HTTP2ClientTransport.Posix {
      var config = HTTP2ClientTransport.Posix.Config.defaults
      config.http2.targetWindowSize = Self.window
      config.connection.maxIdleTime = options.idleTime
      config.channelDebuggingCallbacks.onCreateTCPConnection = { connections.add($0) }
      // Each question begins the wait for an answer anew, so they must not come more often than that is over. Without calls
      // too: once no call is left, questions would stop for good, also for the calls that come then.
      config.connection.keepalive = .init(
        time: max(options.keepAlive, options.keepAliveTimeout + .milliseconds(1)),
        timeout: options.keepAliveTimeout, allowWithoutCalls: true)
      var security = HTTP2ClientTransport.Posix.TransportSecurity.plaintext
      if address.isSecure {
        security = .tls { [trusted = options.trustedCertificates] tls in
          if !trusted.isEmpty {
            tls.trustRoots = .certificates([.bytes(trusted, format: .pem)])
          }
        }
      }
      // An address is no name for TLS: the certificate is compared with the address itself then.
      let target: any ResolvableTarget =
        switch address.kind {
        case .name: .dns(host: address.host, port: address.port)
        case .ipv4: .ipv4(address: address.host, port: address.port)
        case .ipv6: .ipv6(address: address.host, port: address.port)
        }
      return try .http2NIOPosix(target: target, transportSecurity: security, config: config)
    }
  }
#endif
