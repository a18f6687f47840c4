#if Network
  import NIOCore
  import NIOHTTP1
  import NIOWebSocket

  /// Upgrades an HTTP connection to a WebSocket. NIO's encoder writes the frames; the added handler
  /// parses received bytes itself, because NIO's decoder keeps each frame whole.
  final class WebSocketUpgrader: HTTPServerProtocolUpgrader {
    private let handshake: NIOWebSocketServerUpgrader
    private let open: @Sendable (any Channel, HTTPRequestHead) throws -> Void

    /// - Parameters:
    ///   - shouldUpgrade: whether a request becomes a WebSocket; nil when it does not.
    ///   - open: adds the handler, on the channel's loop.
    init(
      shouldUpgrade:
        @escaping @Sendable (any Channel, HTTPRequestHead) -> EventLoopFuture<HTTPHeaders?>,
      open: @escaping @Sendable (any Channel, HTTPRequestHead) throws -> Void
    ) {
      handshake = NIOWebSocketServerUpgrader(
        automaticErrorHandling: false, shouldUpgrade: shouldUpgrade,
        upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() })
      self.open = open
    }

    var supportedProtocol: String { handshake.supportedProtocol }
    // `Connection` must name the upgrade: otherwise NIO's parser treats the request as an ordinary
    // one and reads on.
    let requiredUpgradeHeaders = ["upgrade"]

    func buildUpgradeResponse(
      channel: any Channel, upgradeRequest: HTTPRequestHead, initialResponseHeaders: HTTPHeaders
    ) -> EventLoopFuture<HTTPHeaders> {
      handshake.buildUpgradeResponse(
        channel: channel, upgradeRequest: upgradeRequest,
        initialResponseHeaders: initialResponseHeaders)
    }

    func upgrade(
      context: ChannelHandlerContext, upgradeRequest: HTTPRequestHead
    ) -> EventLoopFuture<Void> {
      let channel = context.channel
      return channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
        try open(channel, upgradeRequest)
      }
    }
  }
#endif
