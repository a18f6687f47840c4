#if GRPC
  import NIOCore
  import NIOHPACK
  import NIOHTTP2

  /// Counts the bytes of a call's requests before gRPC gathers them. The connection stays, and so do its other calls.
  ///
  /// A call is refused as `RESOURCE_EXHAUSTED` when there is no room for a message. A message that is too large is refused
  /// as `INVALID_ARGUMENT`, since it never fits: in its place the call gets one that cannot be read, and so is answered
  /// behind those before it, by whose order clients of streams know what was refused.
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
      /// A message is too large: the service refuses what stands in its place, and what still comes is dropped.
      case tooLarge(String)
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
    /// The beginning of a message that does not tell its length yet.
    private var held = ByteBuffer()
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
      case (.receiving, .data(var payload)):
        guard let bytes = taken(&payload) else { return refuse(context, Self.noRoom) }
        payload.data = .byteBuffer(bytes)
        context.fireChannelRead(wrapInboundOut(.data(payload)))
      case (.tooLarge, .data), (.refused, _): break
      default: context.fireChannelRead(data)
      }
    }

    /// Counts what came.
    ///
    /// - Returns: what the service gets of it; nil when there is no room for it.
    private func taken(_ payload: inout HTTP2Frame.FramePayload.Data) -> ByteBuffer? {
      guard case .byteBuffer(var new) = payload.data else { return ByteBuffer() }
      var bytes = held
      bytes.writeBuffer(&new)
      held = ByteBuffer()
      let whole = bytes
      while bytes.readableBytes > 0 {
        let start = bytes.readerIndex
        if !payload.endStream, framing.isBetween, bytes.readableBytes < MessageFraming.prefixCount {
          held = bytes
          return whole.before(start)
        }
        guard let part = framing.next(&bytes) else { break }
        switch part {
        case .some(let count): if !share.receive(count) { return nil }
        case .last(let count):
          guard share.receive(count) else { return nil }
          share.finishMessage()
        case .tooLarge(let count):
          state = .tooLarge("The message has \(count) bytes, and \(most) are allowed. Split it.")
          // Nothing of it reaches the service, which ends the call when it has read what stands in its place.
          payload.endStream = false
          var given = whole.before(start)
          given.writeBytes(Self.unreadable)
          return given
        }
      }
      return whole
    }

    /// A message of one byte, with which no message begins.
    private static let unreadable: [UInt8] = [0, 0, 0, 0, 1, 0]

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
      switch state {
      case .refused, .tooLarge: context.read()
      case .waiting, .receiving, .answered: break
      }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if case .refused = state {
        promise?.fail(ChannelError.outputClosed)
        return
      }
      guard case .headers(var headers) = unwrapOutboundIn(data) else {
        return context.write(data, promise: promise)
      }
      hasSentHeaders = true
      if headers.endStream {
        if case .tooLarge(let message) = state,
          headers.headers.first(name: "grpc-status") == "3"
        {
          headers.headers.replaceOrAdd(name: "grpc-message", value: message)
        }
        state = .answered
        share.end()
      }
      context.write(wrapOutboundOut(.headers(headers)), promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
      share.end()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { share.end() }
  }

  extension ByteBuffer {
    /// The readable bytes before an index.
    fileprivate func before(_ index: Int) -> ByteBuffer {
      getSlice(at: readerIndex, length: index - readerIndex) ?? ByteBuffer()
    }
  }
#endif
