#if Network
  import NIOCore

  /// Tells a WebSocket of bytes that come, before they are a frame: one that is long is counted while it
  /// grows, and is a sign of life.
  final class FrameByteHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let webSocket: WebSocketHandler

    init(_ webSocket: WebSocketHandler) { self.webSocket = webSocket }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      webSocket.hear(unwrapInboundIn(data).readableBytes)
      context.fireChannelRead(data)
    }
  }
#endif
