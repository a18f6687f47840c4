#if WebSocket
  import ConiferWire
  import NIOCore
  import NIOWebSocket
  import Synchronization

  /// One WebSocket of a client.
  ///
  /// Messages wait in a queue under a lock. Everything else happens on one event loop, the calls of the
  /// receiver too.
  final class WebSocketConnection: TransportConnection {
    enum Phase {
      case opening
      case open(any Channel)
      /// The receiver was told.
      case closed
    }

    struct State {
      var phase = Phase.opening
      /// The channel that becomes a WebSocket.
      var attempt: (any Channel)?
      /// Messages that wait to be written, in memory alone.
      var waiting = CircularBuffer<ClientMessage>()
      /// Whether the event loop is going to write.
      var isWriteScheduled = false
      /// Whether no more messages are taken.
      var isEnding = false
      /// How many more messages the receiver takes.
      var credit: MessageCredit
      /// Whether the next bytes are reported as a `pong`.
      var isProbed = false
    }

    let loop: any EventLoop
    let options: WebSocketOptions
    let receive: @Sendable (TransportEvent) -> Void
    let state: Mutex<State>

    init(
      on loop: any EventLoop, _ options: WebSocketOptions, credit: Int?,
      _ receive: @escaping @Sendable (TransportEvent) -> Void
    ) {
      state = Mutex(State(credit: MessageCredit(credit)))
      self.loop = loop
      self.options = options
      self.receive = receive
    }

    // MARK: From any thread

    /// Queues a message; never blocks. Writing waits while the server does not read, so the owner limits
    /// how many messages wait.
    func send(_ message: ClientMessage) {
      let isNeeded = state.withLock { state in
        if case .closed = state.phase { return false }
        if state.isEnding { return false }
        state.waiting.append(message)
        guard case .open = state.phase, !state.isWriteScheduled else { return false }
        state.isWriteScheduled = true
        return true
      }
      if isNeeded { loop.execute { self.write() } }
    }

    /// Sends a close frame, after the waiting messages, as far as the server reads them in time.
    func close() {
      let isFirst = state.withLock { state in
        defer { state.isEnding = true }
        return !state.isEnding
      }
      if isFirst { loop.execute { self.end() } }
    }

    /// Continues to read, if reading waits for credit.
    func grantCredit(_ messages: Int) {
      let stalled: (any Channel)? = state.withLock { state in
        let hadSome = state.credit.isLeft
        state.credit.grant(messages)
        guard !hadSome, case .open(let channel) = state.phase else { return nil }
        return channel
      }
      if let stalled { loop.execute { stalled.read() } }
    }

    /// Sends a WebSocket ping, which servers answer at once. Whatever comes then is a sign of life.
    func probe() -> Bool {
      loop.execute {
        let channel: (any Channel)? = self.state.withLock { state in
          guard case .open(let channel) = state.phase else { return nil }
          state.isProbed = true
          return channel
        }
        channel?.writeAndFlush(Self.frame(.ping, ByteBuffer()), promise: nil)
      }
      return true
    }

    // MARK: On the event loop

    /// Whether the receiver was told that the connection ended.
    var isClosed: Bool {
      state.withLock { state in
        if case .closed = state.phase { true } else { false }
      }
    }

    /// Whether there is credit for another message.
    var hasCredit: Bool { state.withLock { $0.credit.isLeft } }

    /// Hands a message on; there is credit for it.
    func take(_ message: ServerMessage) {
      let isWanted = state.withLock { state in
        if case .closed = state.phase { return false }
        state.credit.take(for: message)
        return true
      }
      if isWanted { receive(.message(message)) }
    }

    /// Bytes came, perhaps a part of a message only.
    func didReceiveBytes() {
      let wasProbed = state.withLock { state in
        defer { state.isProbed = false }
        return state.isProbed
      }
      if wasProbed { take(.pong) }
    }

    /// Writes the waiting messages, for as long as the server reads.
    func write() {
      var channel: (any Channel)?
      while let (message, to) = next() {
        channel = to
        for frame in Frames.split(message.encoded()) {
          to.write(Self.frame(.text, ByteBuffer(bytes: frame)), promise: nil)
        }
      }
      channel?.flush()
    }

    /// The next message, unless the server must read earlier ones first.
    private func next() -> (ClientMessage, any Channel)? {
      state.withLock { state in
        guard case .open(let channel) = state.phase else { return nil }
        guard state.isEnding || channel.isWritable, let first = state.waiting.popFirst() else {
          state.isWriteScheduled = false
          return nil
        }
        return (first, channel)
      }
    }

    private func end() {
      let phase = state.withLock { $0.phase }
      switch phase {
      case .closed: break
      case .opening: finish("")
      case .open(let channel):
        write()
        Self.sendClose(on: channel, .normalClosure, options.closeTime)
      }
    }

    /// Sends a close frame, and closes the channel if the server does not close it in time.
    static func sendClose(
      on channel: any Channel, _ code: WebSocketErrorCode, _ time: Duration
    ) {
      var data = channel.allocator.buffer(capacity: 2)
      data.write(webSocketErrorCode: code)
      channel.writeAndFlush(frame(.connectionClose, data), promise: nil)
      channel.eventLoop.scheduleTask(in: TimeAmount(time)) { channel.close(promise: nil) }
    }

    /// A whole frame, masked as those of clients must be.
    static func frame(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
      WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
    }
  }

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
          context, "The server sends what is invalid: \(error.message)",
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
