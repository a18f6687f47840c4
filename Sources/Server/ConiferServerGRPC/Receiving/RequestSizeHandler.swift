#if GRPC
  import NIOCore
  import NIOHPACK
  import NIOHTTP2

  /// Counts the bytes of a call's requests before gRPC gathers them, and refuses a message that is too large, or for which
  /// there is no room, as `RESOURCE_EXHAUSTED`. The connection stays, and so do its other calls.
  final class RequestSizeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private enum State {
      /// Before the headers of the call.
      case waiting
      /// Messages are counted.
      case receiving
      /// The call was answered: what still comes is kept by nobody.
      case answered
      /// The call was refused here: what still comes is dropped.
      case refused
    }

    /// The header by which the service knows the call's part of the memory.
    static let header = "x-conifer-request"

    private let share: RequestShare
    private let most: Int
    private var framing: MessageFraming
    private var state = State.waiting
    private var hasSentHeaders = false

    /// - Parameters:
    ///   - memory: that of all calls.
    ///   - most: the bytes that a message may have.
    init(_ memory: RequestMemory, atMost most: Int) {
      share = memory.begin()
      self.most = most
      framing = MessageFraming(atMost: most)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch (state, unwrapInboundIn(data)) {
      case (.waiting, .headers(var headers)):
        state = .receiving
        headers.headers.replaceOrAdd(name: Self.header, value: "\(share.number)")
        context.fireChannelRead(wrapInboundOut(.headers(headers)))
      case (.receiving, .data(let payload)):
        if let refusal = refusal(of: payload) {
          refuse(context, refusal)
        } else {
          context.fireChannelRead(data)
        }
      case (.refused, _): break
      default: context.fireChannelRead(data)
      }
    }

    /// Counts what came.
    ///
    /// - Returns: why the call is refused; nil when it is not.
    private func refusal(of payload: HTTP2Frame.FramePayload.Data) -> String? {
      guard case .byteBuffer(var bytes) = payload.data else { return nil }
      while let part = framing.next(&bytes) {
        switch part {
        case .some(let count): if !share.receive(count) { return Self.noRoom }
        case .last(let count):
          guard share.receive(count) else { return Self.noRoom }
          share.finishMessage()
        case .tooLarge(let count):
          return "The message has \(count) bytes, and \(most) are allowed. Split it."
        }
      }
      return nil
    }

    private static let noRoom =
      "Requests are being received that take all memory there is for them. Try again later."

    private func refuse(_ context: ChannelHandlerContext, _ message: String) {
      state = .refused
      share.end()
      var headers = HPACKHeaders()
      if !hasSentHeaders {
        headers.add(name: ":status", value: "200")
        headers.add(name: "content-type", value: "application/grpc")
      }
      headers.add(name: "grpc-status", value: "8")
      headers.add(name: "grpc-message", value: message)
      context.writeAndFlush(
        wrapOutboundOut(.headers(.init(headers: headers, endStream: true))), promise: nil)
      // The service's part of the call ends.
      context.fireChannelRead(wrapInboundOut(.rstStream(.cancel)))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      context.fireChannelReadComplete()
      // Nobody else asks for what is dropped.
      if case .refused = state { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if case .refused = state {
        promise?.fail(ChannelError.outputClosed)
        return
      }
      if case .headers(let headers) = unwrapOutboundIn(data) {
        hasSentHeaders = true
        if headers.endStream {
          state = .answered
          share.end()
        }
      }
      context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
      share.end()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { share.end() }
  }
#endif
