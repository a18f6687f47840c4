#if Network
  import ConiferSockets
  import NIOCore
  import NIOHTTP1
  import Synchronization

  extension HTTPServer {
    /// Configures a new connection for HTTP, until a request upgrades it to a WebSocket.
    func configure(_ channel: any Channel) throws {
      channel.keepFromChildren()
      let pipeline = channel.pipeline.syncOperations
      guard connections.admit(channel) else { return try pipeline.addHandler(RefusalHandler()) }
      var limits = NIOHTTPDecoderLimitConfiguration()
      limits.maxHeaderFieldSize = configuration.limits.head
      limits.maxHeaderListSize = configuration.limits.head
      limits.maxHeaderFieldCount = configuration.limits.headers
      var framing = HTTPResponseEncoder.Configuration()
      framing.automaticallySetFramingHeaders = false
      let encoder = HTTPResponseEncoder(configuration: framing)
      // Swift 6.3 may crash when two threads are the first to make a type of generic ones, as those of the first two
      // connections may be.
      let decoder = Self.making.withLock { _ in
        ByteToMessageHandler(
          HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits),
          // The gate keeps bytes that follow an upgrade request; it keeps nothing else for long.
          maximumBufferSize: configuration.limits.head)
      }
      let gate = UpgradeGate()
      let http = HTTPHandler(self, on: channel)
      let upgrade = HTTPServerUpgradeHandler(
        upgraders: [upgrader], httpEncoder: encoder, extraHTTPHandlers: [gate, decoder, http],
        upgradeCompletionHandler: { _ in })
      try pipeline.addHandlers([encoder, decoder, gate, upgrade, http])
    }

    private static let making = Mutex(())

    private var upgrader: WebSocketUpgrader {
      WebSocketUpgrader { channel, head in
        guard let namespace = self.webSocketNamespace(head, on: channel) else {
          return channel.eventLoop.makeSucceededFuture(nil)
        }
        // A request that cannot be served gets an error from the HTTP handler, which comes next.
        return channel.eventLoop.makeFutureWithTask {
          do throws(NamespaceTable.Failure) {
            try await self.namespaces.begin(namespace)
            channel.closeFuture.whenComplete { _ in self.namespaces.end(namespace) }
            return HTTPHeaders()
          } catch {
            return nil
          }
        }
      } open: { channel, head in
        guard let namespace = self.webSocketNamespace(head, on: channel) else {
          throw ChannelError.eof
        }
        let handler = WebSocketHandler(
          self, on: channel, namespace: namespace, host: head.headers.first(name: "host"),
          lastSession: RequestTarget(head.uri)?.parameter("ls"))
        try channel.pipeline.syncOperations.addHandler(handler)
      }
    }

    /// The database of a request that may become a WebSocket; nil for other requests.
    private func webSocketNamespace(
      _ head: HTTPRequestHead, on channel: any Channel
    ) -> String? {
      guard case .allowed = origins.verdict(.init(head, at: channel.localAddress)),
        head.method == .GET, head.headers.asksToUpgrade, let target = RequestTarget(head.uri),
        target.path == "/.ws",
        target.parameter("v") ?? "5" == "5"
      else { return nil }
      return NamespaceName.name(
        parameter: target.parameter("ns"),
        host: target.authority ?? head.headers.first(name: "host"), else: configuration.namespace)
    }
  }

  extension HTTPHeaders {
    /// Whether `Connection` names `Upgrade`.
    fileprivate var asksToUpgrade: Bool {
      self[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
    }
  }

  /// Answers a connection beyond the limit with 503.
  final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
      let words =
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n"
        + "content-length: 0\r\n\r\n"
      let channel = context.channel
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: words))).whenComplete { _ in
        channel.close(promise: nil)
      }
    }
  }
#endif
