#if Network
  import NIOCore
  import NIOHTTP1

  /// Lets one request through that asks for another protocol, and nothing behind it.
  ///
  /// NIO's parser and its handler of upgrades each judge by themselves whether a request becomes another
  /// protocol. Where the parser thinks not it reads a request that follows, which must never come to
  /// what reads the other protocol's bytes.
  final class UpgradeGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private enum State {
      /// Nothing has come.
      case first
      /// The first request asks for no other protocol, and no later one can.
      case open
      /// The first request does, and is not whole.
      case asking
      /// It is whole, and goes on when the parser is done with what came.
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
