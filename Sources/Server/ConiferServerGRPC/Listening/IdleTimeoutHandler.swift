#if GRPC
  import NIOCore

  /// Closes a connection from which nothing has come for so long as an `IdleStateHandler` before it says.
  final class IdleTimeoutHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard case IdleStateHandler.IdleStateEvent.read? = event as? IdleStateHandler.IdleStateEvent
      else { return context.fireUserInboundEventTriggered(event) }
      context.close(promise: nil)
    }
  }
#endif
