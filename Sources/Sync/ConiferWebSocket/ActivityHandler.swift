#if WebSocket
  import NIOCore

  /// Reports to a connection that bytes came, before they are a whole frame: those of a long frame are
  /// signs of life, too.
  final class ActivityHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: WebSocketConnection

    init(_ connection: WebSocketConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      connection.didReceiveBytes()
      context.fireChannelRead(data)
    }
  }
#endif
