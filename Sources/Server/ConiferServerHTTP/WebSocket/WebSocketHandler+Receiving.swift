#if Network
  import ConiferServer
  import ConiferWire
  import Logging
  import NIOCore
  import NIOWebSocket

  extension WebSocketHandler {
    /// The number of messages that are handled before other connections of the loop get their turn.
    private static var turn: Int { 32 }

    func read(context: ChannelHandlerContext) {
      if isBehind { wantsRead = true } else { context.read() }
    }

    /// Whether reading is paused because the server is behind with this session.
    var isBehind: Bool {
      if phase != .open { return false }
      if incoming.isWaiting { return true }
      guard let unanswered = line?.unanswered else { return false }
      return unanswered.count >= limits.unanswered || unanswered.bytes >= limits.message
    }

    func resumeReading() {
      guard wantsRead, !isBehind else { return }
      wantsRead = false
      channel.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      heard = .now()
      isAsked = false
      if phase == .closed { return }
      incoming.append(unwrapInboundIn(data))
      while phase != .closed, let event = incoming.next() { take(event) }
      if phase == .open { holdPart() }
    }

    private func take(_ event: IncomingMessages.Event) {
      guard phase == .open else {
        // Bytes after the close frame are dropped.
        _ = incoming.popFirst()
        if case .close = event { channel.close(promise: nil) }
        return
      }
      switch event {
      case .message: if !isHandling { handle() }
      case .ping(let bytes):
        send(WebSocketFrame(fin: true, opcode: .pong, data: ByteBuffer(bytes: bytes)))
        channel.flush()
        _ = isReadEnough()
      case .close(let bytes): answerClose(bytes)
      case .fault(let code, let words): close(code, words)
      }
    }

    /// Counts the memory of a partial message; the session ends when the limit of all connections
    /// is exceeded.
    private func holdPart() {
      if claim(heldBytes) { return }
      logger.notice("The server holds too much of messages that are not whole, and a session ends.")
      abort()
    }

    /// Passes received messages to the server, as far as it keeps up.
    func handle() {
      isHandling = true
      defer { isHandling = false }
      for _ in 0..<Self.turn {
        guard phase == .open, let line else { return }
        guard line.unanswered.count < limits.unanswered else { break }
        guard let message = incoming.popFirst() else { break }
        hand(message)
      }
      if !incoming.isWaiting { return resumeReading() }
      // Without memory for more, the next answer resumes.
      guard let line, line.unanswered.count < limits.unanswered else { return }
      let bound = bound
      channel.eventLoop.execute { if !bound.value.isHandling { bound.value.handle() } }
    }

    /// Passes all received messages to the server after the client has gone.
    func handleRest() {
      while phase == .open, let message = incoming.popFirst() { hand(message) }
    }

    private func hand(_ message: FrameAssembler.Message) {
      guard let line, let session else { return }
      switch message {
      case .text(let bytes):
        var cost = JSONCost()
        cost.add(bytes)
        // Checked before decoding, since the decoded message may take far more memory than its
        // text.
        guard cost.memory <= limits.total else {
          return refuse(
            RequestNumberFinder.number(in: bytes),
            "takes more than \(limits.total) bytes of memory", line, session)
        }
        guard claim(heldBytes + cost.memory, isAsking: true) else {
          logger.notice("There is no room for a client's message, and its session ends.")
          return abort()
        }
        do throws(WireError) {
          let message = try ClientMessage(decoding: bytes)
          line.ask(message, bytes.count, memory: cost.memory)
          session.receive(message)
        } catch {
          refuse(error)
        }
      case .tooLarge(let number):
        refuse(number, "has more than \(limits.message) bytes", line, session)
      }
    }

    /// Refuses a message that is too large.
    ///
    /// - Parameters:
    ///   - number: the request's number; nil when it is unknown.
    ///   - what: the exceeded limit.
    private func refuse(
      _ number: UInt64?, _ what: String, _ line: SessionLine, _ session: ServerSession
    ) {
      guard let number else { return close(.messageTooLarge, "A message \(what).") }
      let message = ClientMessage.tooLarge(
        number, reason: "The message \(what). Write it in parts.")
      line.ask(message, 0)
      session.receive(message)
    }

    private func refuse(_ error: WireError) {
      logger.notice("A message was not understood, and its connection is closed: \(error.message)")
      switch error.code {
      case .tooLarge: close(.messageTooLarge, error.message)
      case .malformed: close(.dataInconsistentWithMessage, error.message)
      }
    }

    /// Answers the client's close frame with its code, or with an error for an invalid one.
    private func answerClose(_ data: [UInt8]) {
      handleRest()
      guard phase == .open else { return }
      let code: WebSocketErrorCode?
      switch CloseFrame.check(data) {
      case .success(let sent): code = sent
      case .failure(let fault): code = fault.code
      }
      phase = .closing
      closingSince = .now()
      endSession()
      incoming.end()
      var words = ByteBuffer()
      if let code { words.write(webSocketErrorCode: code) }
      let promise = channel.eventLoop.makePromise(of: Void.self)
      let channel = channel
      promise.futureResult.whenComplete { _ in channel.close(promise: nil) }
      send(WebSocketFrame(fin: true, opcode: .connectionClose, data: words), promise)
      channel.flush()
    }
  }
#endif
