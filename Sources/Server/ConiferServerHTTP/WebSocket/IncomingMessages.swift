#if Network
  import ConiferWire
  import NIOCore
  import NIOWebSocket

  /// The input of a WebSocket: frames, the messages made of them, and the queue of messages to
  /// handle.
  struct IncomingMessages {
    private let limits: HTTPServerLimits
    private var frames = FrameReader()
    private var assembler: FrameAssembler
    /// Whether a fragmented message is incomplete (RFC 6455, section 5.4).
    private var isFragmented = false
    /// The data of a control frame.
    private var control: [UInt8] = []
    private var line = CircularBuffer<FrameAssembler.Message>()
    private var lineBytes = 0
    /// When the incomplete message began to arrive; nil when there is none.
    private var since: NIODeadline?

    init(_ limits: HTTPServerLimits) {
      self.limits = limits
      assembler = FrameAssembler(limit: limits.message)
    }

    /// An event for the connection.
    enum Event {
      case message
      case ping([UInt8])
      case close([UInt8])
      /// An invalid frame; nothing follows.
      case fault(WebSocketErrorCode, String)
    }

    // MARK: Frames

    mutating func append(_ bytes: ByteBuffer) { frames.append(bytes) }

    /// The next event from the received bytes; nil when more bytes are needed.
    mutating func next() -> Event? {
      do throws(FrameReader.Failure) {
        while let part = try frames.next() {
          if let event = take(part) { return event }
        }
        return nil
      } catch {
        return .fault(.protocolError, error.words)
      }
    }

    private mutating func take(_ part: FrameReader.Part) -> Event? {
      switch part {
      case .head(let head): return check(head)
      case .data(let head, let bytes):
        if head.opcode.isControl { control += bytes } else { assembler.append(bytes) }
        return nil
      case .end(let head):
        switch head.opcode {
        case .ping: return .ping(takeControl())
        case .close: return .close(takeControl())
        case .pong: control = []
        case .text, .continuation:
          isFragmented = !head.isFinal
          guard head.isFinal, let message = assembler.endFrame() else { break }
          since = nil
          line.append(message)
          lineBytes += message.text?.count ?? 0
          return .message
        case .binary: break
        }
        return nil
      }
    }

    private func check(_ head: FrameReader.Head) -> Event? {
      switch head.opcode {
      case .text:
        if isFragmented { return .fault(.protocolError, "A message is incomplete.") }
      case .continuation:
        if !isFragmented { return .fault(.protocolError, "There is nothing to continue.") }
      case .binary: return .fault(.unacceptableData, "Messages are text.")
      case .close, .ping, .pong: return nil
      }
      let before = assembler.discardedBytes ?? 0
      if head.length <= UInt64(max(0, limits.discarded - before)) { return nil }
      return .fault(.messageTooLarge, "A message has more than \(limits.discarded) bytes.")
    }

    private mutating func takeControl() -> [UInt8] {
      defer { control = [] }
      return control
    }

    // MARK: The queue

    /// Whether messages wait to be handled.
    var isWaiting: Bool { !line.isEmpty }

    /// The next message to be handled.
    mutating func popFirst() -> FrameAssembler.Message? {
      let message = line.popFirst()
      lineBytes -= message?.text?.count ?? 0
      return message
    }

    /// Drops all messages, and afterwards only reads the client's close frame.
    mutating func end() {
      line = CircularBuffer()
      lineBytes = 0
      since = nil
      assembler = FrameAssembler(limit: 0)
    }

    // MARK: Memory

    /// The memory of the input.
    var heldBytes: Int { lineBytes + assembler.heldBytes }

    /// Whether a message has arrived in part, kept or thrown away.
    private var isUnfinished: Bool {
      frames.isWithinFrame || isFragmented || assembler.isWithinMessage
    }

    /// How long a message has been incomplete.
    ///
    /// - Parameter isPaused: whether this side has paused reading.
    mutating func age(_ now: NIODeadline, isPaused: Bool) -> TimeAmount {
      if isPaused || !isUnfinished {
        since = nil
        return .zero
      }
      let since = since ?? now
      self.since = since
      return now - since
    }
  }
#endif
