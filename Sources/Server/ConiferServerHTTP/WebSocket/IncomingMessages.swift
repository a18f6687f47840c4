#if Network
  import ConiferWire
  import NIOCore
  import NIOWebSocket

  /// What comes to a WebSocket: frames, the messages that they make up, and the line of those that
  /// were not handled.
  struct IncomingMessages {
    private let limits: HTTPServerLimits
    private var frames = FrameReader()
    private var assembler: FrameAssembler
    /// Whether a message's frame came that was not its last (RFC 6455, section 5.4).
    private var isFragmented = false
    /// The data of a control frame.
    private var control: [UInt8] = []
    private var line = CircularBuffer<FrameAssembler.Message>()
    private var lineBytes = 0
    /// When what is not whole began to come; nil while nothing is.
    private var since: NIODeadline?

    init(_ limits: HTTPServerLimits) {
      self.limits = limits
      assembler = FrameAssembler(limit: limits.message)
    }

    /// What the connection is to do.
    enum Event {
      case message
      case ping([UInt8])
      case close([UInt8])
      /// A frame came that must not; nothing follows.
      case fault(WebSocketErrorCode, String)
    }

    // MARK: Frames

    mutating func append(_ bytes: ByteBuffer) { frames.append(bytes) }

    /// What the next bytes bring about; nil when more must come.
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
        if isFragmented { return .fault(.protocolError, "A message is not whole.") }
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

    // MARK: The line

    /// Whether messages wait to be handled.
    var isWaiting: Bool { !line.isEmpty }

    /// The next message to be handled.
    mutating func popFirst() -> FrameAssembler.Message? {
      let message = line.popFirst()
      lineBytes -= message?.text?.count ?? 0
      return message
    }

    /// Forgets all messages, and takes none any more but to see what the client closes with.
    mutating func end() {
      line = CircularBuffer()
      lineBytes = 0
      since = nil
      assembler = FrameAssembler(limit: 0)
    }

    // MARK: What is held

    /// The memory that it takes.
    var heldBytes: Int { lineBytes + assembler.heldBytes }

    /// Whether a message has come in part, be it kept or thrown away.
    private var isUnfinished: Bool {
      frames.isWithinFrame || isFragmented || assembler.isWithinMessage
    }

    /// For how long a part of a message has come without its end.
    ///
    /// - Parameter isPaused: whether it is we who do not read on.
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
