#if WebSocket
  import ConiferSockets
  import ConiferWire
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
  import NIOWebSocket
  import Synchronization

  extension WebSocketConnection {
    /// Begins to open the WebSocket.
    ///
    /// - Parameters:
    ///   - address: where to.
    ///   - path: the request's path with its query.
    ///   - security: certificates, for an encrypted connection.
    ///   - appToken: the app's token, if it has one.
    func open(
      _ address: WebSocketAddress, _ path: String, _ security: NIOSSLContext?,
      appToken: Credential?
    ) {
      let time = TimeAmount(options.connectTime)
      let attempt = ClientBootstrap(group: loop)
        .connectTimeout(time)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try self.configure(channel, address, path, security, appToken)
          }
        }
        .connect(host: address.host, port: address.port)
      // The server may accept the connection and then send nothing.
      let late = loop.scheduleTask(in: time) {
        if self.isOpening { self.finish("The server did not open a WebSocket in time.") }
      }
      attempt.whenComplete { result in
        switch result {
        case .failure(let error):
          late.cancel()
          self.finish("\(address.authority) cannot be reached: \(error)")
        case .success(let channel):
          channel.closeFuture.whenComplete { _ in
            late.cancel()
            self.finish("The connection was lost.")
          }
          self.connected(channel)
        }
      }
    }

    private func configure(
      _ channel: any Channel, _ address: WebSocketAddress, _ path: String,
      _ security: NIOSSLContext?, _ appToken: Credential?
    ) throws {
      channel.keepFromChildren()
      let pipeline = channel.pipeline.syncOperations
      if let security {
        let name = address.isNumeric ? nil : address.host
        try pipeline.addHandler(NIOSSLClientHandler(context: security, serverHostname: name))
      }
      let opening = OpeningHandler(self, address.authority, path, appToken)
      let upgrader = NIOWebSocketClientUpgrader(
        // Servers may send all of a message in one frame.
        maxFrameSize: min(max(options.messageLimit, 1 << 20), Int(UInt32.max)),
        automaticErrorHandling: false
      ) { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(ActivityHandler(self), position: .first)
          try pipeline.addHandler(FrameHandler(self))
          self.opened(channel)
        }
      }
      let bound = NIOLoopBound(opening, eventLoop: channel.eventLoop)
      // The server's first frames may come with its answer.
      try pipeline.addHTTPClientHandlers(
        leftOverBytesStrategy: .forwardBytes,
        withClientUpgrade: (
          upgraders: [upgrader],
          completionHandler: { $0.pipeline.syncOperations.removeHandler(bound.value, promise: nil) }
        ))
      try pipeline.addHandler(opening)
    }

    /// Ends an attempt that could not begin.
    func refuse(_ words: String) { loop.execute { self.finish(words) } }

    /// Whether the WebSocket is not open yet, and may become so.
    var isOpening: Bool {
      state.withLock { state in
        if case .opening = state.phase { true } else { false }
      }
    }

    /// The channel is open and becomes a WebSocket next.
    func connected(_ channel: any Channel) {
      let isWanted = state.withLock { state in
        // The WebSocket may be open already.
        if case .opening = state.phase { state.attempt = channel }
        if case .closed = state.phase { return false }
        return true
      }
      if !isWanted { channel.close(promise: nil) }
    }

    /// The WebSocket is open.
    func opened(_ channel: any Channel) {
      let isWanted = state.withLock { state in
        guard case .opening = state.phase else { return false }
        state.phase = .open(channel)
        state.attempt = nil
        return true
      }
      if isWanted { write() } else { channel.close(promise: nil) }
    }

    /// Tells the receiver once that the connection ended.
    ///
    /// - Parameter words: why, if the client did not close it.
    func finish(_ words: String) {
      let ending: (words: String, attempt: (any Channel)?)? = state.withLock { state in
        if case .closed = state.phase { return nil }
        state.phase = .closed
        state.waiting.removeAll()
        let ending = state.isEnding ? "The client closed the connection." : words
        return (ending, state.attempt.take())
      }
      guard let ending else { return }
      ending.attempt?.close(promise: nil)
      receive(.closed(ending.words))
    }
  }

  /// Asks for a WebSocket, and fails the connection when the server refuses.
  final class OpeningHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let connection: WebSocketConnection
    private let authority: String
    private let path: String
    private let appToken: Credential?

    init(
      _ connection: WebSocketConnection, _ authority: String, _ path: String,
      _ appToken: Credential?
    ) {
      self.connection = connection
      self.authority = authority
      self.path = path
      self.appToken = appToken
    }

    func channelActive(context: ChannelHandlerContext) {
      var headers: HTTPHeaders = ["Host": authority, "User-Agent": connection.options.userAgent]
      if let token = appToken?.headerText { headers.add(name: "X-Firebase-AppCheck", value: token) }
      let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .head(let head) = unwrapInboundIn(data) else { return }
      connection.finish("The server opens no WebSocket: \(head.status)")
      context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      connection.finish("\(authority) opens no WebSocket: \(error)")
      context.close(promise: nil)
    }
  }
#endif
