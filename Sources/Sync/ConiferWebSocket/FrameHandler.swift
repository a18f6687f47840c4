#if Network
  import ConiferWire
  import NIOCore
  import NIOWebSocket

  /// Puts a server's messages together from its frames, and answers pings and close frames.
  ///
  /// While the connection has no credit it reads nothing, so that the server waits.
  final class FrameHandler: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = WebSocketFrame

    private let connection: WebSocketConnection
    /// The frames that were read and wait for credit.
    private var frames = CircularBuffer<WebSocketFrame>()
    private var assembler: FrameAssembler
    /// The parts of a WebSocket message whose end has not come.
    private var fragments: [UInt8] = []
    private var isFragmented = false

    init(_ connection: WebSocketConnection) {
      self.connection = connection
      assembler = FrameAssembler(limit: connection.options.messageLimit)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let frame = unwrapInboundIn(data)
      // A ping is answered before the frames that wait for credit.
      if frame.opcode == .ping {
        let pong = WebSocketConnection.frame(.pong, frame.unmaskedData)
        context.channel.writeAndFlush(pong, promise: nil)
        return
      }
      frames.append(frame)
      handle(context)
    }

    func read(context: ChannelHandlerContext) {
      handle(context)
      if connection.isClosed || connection.hasCredit { context.read() }
    }

    /// Handles the waiting frames, as far as there is credit.
    private func handle(_ context: ChannelHandlerContext) {
      while connection.hasCredit || connection.isClosed, let frame = frames.popFirst() {
        if !connection.isClosed { handle(frame, context) }
      }
    }

    private func handle(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
      switch frame.opcode {
      case .text:
        if isFragmented { return fail(context, "The server mixes messages.") }
        take(context, frame)
      case .continuation:
        guard isFragmented else { return fail(context, "The server goes on with no message.") }
        take(context, frame)
      case .binary: fail(context, "The server sends what is no text.", .unacceptableData)
      case .connectionClose: closed(context, frame.unmaskedData)
      // Others have no meaning for this client.
      default: break
      }
    }

    private func take(_ context: ChannelHandlerContext, _ frame: WebSocketFrame) {
      let limit = connection.options.messageLimit
      let part = frame.unmaskedData
      guard part.readableBytes <= limit - fragments.count else { return failSize(context) }
      fragments.append(contentsOf: part.readableBytesView)
      isFragmented = !frame.fin
      if isFragmented { return }
      let text = fragments
      fragments = []
      let message = assembler.add(text)
      // A server's message that is too large ends the connection: it cannot be refused alone.
      if assembler.discardedBytes != nil { return failSize(context) }
      do throws(WireError) {
        switch message {
        case .text(let message): connection.take(try ServerMessage(decoding: message))
        case .tooLarge: failSize(context)
        case nil: break
        }
      } catch {
        let isLarge = error.code == .tooLarge
        fail(
          context, "The server sends what makes no sense: \(error.message)",
          isLarge ? .messageTooLarge : .unacceptableData)
      }
    }

    /// The server sent a close frame.
    private func closed(_ context: ChannelHandlerContext, _ data: ByteBuffer) {
      var data = data
      let code = data.readWebSocketErrorCode()
      let reason = data.readString(length: data.readableBytes) ?? ""
      let words = reason.isEmpty ? code.map { " (\($0))" } ?? "" : ": \(reason)"
      connection.finish("The server closed the connection\(words)")
      let channel = context.channel
      let answer = WebSocketConnection.frame(.connectionClose, ByteBuffer())
      channel.writeAndFlush(answer).assumeIsolated().whenComplete { _ in
        channel.close(promise: nil)
      }
    }

    private func failSize(_ context: ChannelHandlerContext) {
      let limit = connection.options.messageLimit
      fail(context, "A message of the server has more than \(limit) bytes.", .messageTooLarge)
    }

    /// Ends the connection because of an error of the server's.
    private func fail(
      _ context: ChannelHandlerContext, _ words: String, _ code: WebSocketErrorCode = .protocolError
    ) {
      guard !connection.isClosed else { return }
      connection.finish(words)
      WebSocketConnection.sendClose(on: context.channel, code, connection.options.closeTime)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      if context.channel.isWritable { connection.write() }
      context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      switch error as? NIOWebSocketError {
      case .invalidFrameLength?:
        let limit = connection.options.messageLimit
        fail(context, "A frame of the server has more than \(limit) bytes.", .messageTooLarge)
      case .some: fail(context, "A frame of the server is not as it must be.")
      case nil:
        connection.finish("The connection failed: \(error)")
        context.close(promise: nil)
      }
    }
  }
#endif
