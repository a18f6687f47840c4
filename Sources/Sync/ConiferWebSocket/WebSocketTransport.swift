#if WebSocket
  import ConiferNetworkWatch
  public import ConiferWire
  import NIOCore
  import NIOPosix
  import NIOSSL
  import Synchronization

  /// A transport to a server over a WebSocket, by the Realtime Database's protocol, version 5.
  ///
  /// ```swift
  /// let configuration = DatabaseConfiguration(
  ///   namespace: "my-app", storage: .lmdb(at: directory), transport: .webSocket("wss://example.com"))
  /// ```
  ///
  /// All transports of a process share the threads of `MultiThreadedEventLoopGroup.singleton`, which
  /// need no shutdown. A message that is too large or malformed ends its connection, and the client
  /// connects again.
  public final class WebSocketTransport: Transport {
    /// The URL, as it was given.
    package let url: String
    /// Times, sizes and trust.
    package let options: WebSocketOptions
    private let address: WebSocketAddress?
    /// Made once, since reading the system's certificates takes time.
    private let security = Mutex<NIOSSLContext?>(nil)

    /// A way to a server.
    ///
    /// - Parameters:
    ///   - url: scheme (`ws`, `wss`, `http`, `https`), host and port. With an invalid one every
    ///     connection is closed with a message that says so.
    ///   - options: times, sizes and trust.
    public init(_ url: String, options: WebSocketOptions = WebSocketOptions()) {
      self.url = url
      self.options = options
      address = WebSocketAddress(url: url)
    }

    /// Begins to open a WebSocket; returns at once.
    public func connect(
      _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let connection = WebSocketConnection(on: loop, options, credit: request.credit, receive)
      guard let address else {
        connection.refuse("\"\(url.prefix(200))\" is no URL: write it like wss://example.com.")
        return connection
      }
      let named = request.host.map { WebSocketAddress(host: $0, like: address) } ?? address
      guard let named else {
        connection.refuse("The server sends the client to a host that is none.")
        return connection
      }
      do {
        let path = WebSocketAddress.path(
          namespace: request.namespace, lastSession: request.lastSession)
        let security = try named.isSecure ? context() : nil
        connection.open(named, path, security, appToken: request.appToken)
      } catch {
        connection.refuse("The certificates cannot be used: \(error)")
      }
      return connection
    }

    private func context() throws -> NIOSSLContext {
      try security.withLock { security in
        if let security { return security }
        var configuration = TLSConfiguration.makeClientConfiguration()
        if !options.trustedCertificates.isEmpty {
          let trusted = try NIOSSLCertificate.fromPEMBytes(options.trustedCertificates)
          configuration.additionalTrustRoots = [.certificates(trusted)]
        }
        let made = try NIOSSLContext(configuration: configuration)
        security = made
        return made
      }
    }

    /// A way to another host, with the same options.
    public func leading(to host: String, isSecure: Bool) -> (any Transport)? {
      WebSocketTransport("\(isSecure ? "wss" : "ws")://\(host)", options: options)
    }

    /// Tells when the system has a new address or route, or a way to the network again.
    public func watchNetwork(_ returned: @escaping @Sendable () -> Void) -> (any NetworkWatch)? {
      SystemNetworkWatch(returned)
    }

    /// The URL.
    public var description: String { url }
  }

  extension Transport where Self == WebSocketTransport {
    /// A way to a server over a WebSocket.
    ///
    /// - Parameters:
    ///   - url: such as `wss://my-app.example.com` or `ws://localhost:9000`.
    ///   - options: times, sizes and trust.
    public static func webSocket(
      _ url: String, options: WebSocketOptions = WebSocketOptions()
    ) -> WebSocketTransport { WebSocketTransport(url, options: options) }
  }
#endif
