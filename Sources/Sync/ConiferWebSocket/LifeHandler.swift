#if Network
  import NIOCore

  /// Tells a connection of bytes that come, before they are a frame: those of a long one are signs of
  /// life, too.
  final class LifeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: WebSocketConnection

    init(_ connection: WebSocketConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      connection.hear()
      context.fireChannelRead(data)
    }
  }
#endif
