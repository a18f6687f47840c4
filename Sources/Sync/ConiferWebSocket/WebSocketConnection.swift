#if Network
  import ConiferWire
  import NIOCore
  import NIOWebSocket
  import Synchronization

  /// One WebSocket of a client.
  ///
  /// Messages wait in a queue under a lock. Everything else happens on one event loop, the calls of the
  /// receiver too.
  final class WebSocketConnection: TransportConnection {
    private enum Phase {
      case opening
      case open(any Channel)
      /// The receiver was told.
      case closed
    }

    private struct State {
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
    private let receive: @Sendable (TransportEvent) -> Void
    private let state: Mutex<State>

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

    /// Ends an attempt that could not begin.
    func refuse(_ words: String) { loop.execute { self.finish(words) } }

    // MARK: On the event loop

    /// Whether the receiver was told that the connection ended.
    var isClosed: Bool {
      state.withLock { state in
        if case .closed = state.phase { true } else { false }
      }
    }

    /// Whether the WebSocket is not open yet, and may become so.
    var isOpening: Bool {
      state.withLock { state in
        if case .opening = state.phase { true } else { false }
      }
    }

    /// The WebSocket is open.
    func opened(_ channel: any Channel) {
      let isWanted = state.withLock { state in
        guard case .opening = state.phase else { return false }
        state.phase = .open(channel)
        state.attempt = nil
        return true
      }
      if isWanted { write() } else { channel.close(promise: nil) }
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
    func bytesCame() {
      let wasProbed = state.withLock { state in
        defer { state.isProbed = false }
        return state.isProbed
      }
      if wasProbed { take(.pong) }
    }

    /// Tells the receiver once that the connection ended.
    ///
    /// - Parameter words: why, if the client did not close it.
    func finish(_ words: String) {
      let told: (words: String, attempt: (any Channel)?)? = state.withLock { state in
        if case .closed = state.phase { return nil }
        state.phase = .closed
        state.waiting.removeAll()
        let told = state.isEnding ? "The client closed the connection." : words
        return (told, state.attempt.take())
      }
      guard let told else { return }
      told.attempt?.close(promise: nil)
      receive(.closed(told.words))
    }

    /// The channel is open and becomes a WebSocket next.
    func connected(_ channel: any Channel) {
      let isWanted = state.withLock { state in
        // The WebSocket may be open already.
        if case .opening = state.phase { state.attempt = channel }
        if case .closed = state.phase { return false }
        return true
      }
      if !isWanted { channel.close(promise: nil) }
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
#endif
