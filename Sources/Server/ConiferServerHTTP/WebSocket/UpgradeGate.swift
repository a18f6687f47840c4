#if Network
  import NIOCore
  import NIOHTTP1

  /// Passes one upgrade request, and nothing after it.
  ///
  /// NIO's parser and its upgrade handler each decide whether a request is an upgrade. When the
  /// parser decides that it is not, it also parses the following request, which must never reach
  /// the reader of the other protocol.
  final class UpgradeGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private enum State {
      /// Nothing was received.
      case first
      /// The first request is not an upgrade, and no later one can be.
      case open
      /// The first request is an upgrade, and is incomplete.
      case asking
      /// The upgrade request is complete, and is passed on when the parser is done with the
      /// received bytes.
      case whole(HTTPServerRequestPart)
      case shut
    }

    private var state = State.first

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch (state, unwrapInboundIn(data)) {
      case (.first, .head(let head)):
        state = head.headers.contains(name: "upgrade") ? .asking : .open
        context.fireChannelRead(data)
      case (.asking, .end(let trailers)): state = .whole(.end(trailers))
      case (.first, _), (.open, _), (.asking, _): context.fireChannelRead(data)
      case (.whole, _), (.shut, _): break
      }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      if case .whole(let end) = state {
        state = .shut
        context.fireChannelRead(wrapInboundOut(end))
      }
      context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      switch state {
      case .whole, .shut: if error is HTTPParserError { return }
      case .first, .open, .asking: break
      }
      context.fireErrorCaught(error)
    }
  }
#endif
