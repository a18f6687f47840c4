#if Network
  import ConiferServer
  import ConiferWire
  import Logging
  import NIOCore
  import NIOWebSocket

  extension WebSocketHandler {
    /// The messages that are handled before other connections of the loop have their turn.
    private static var turn: Int { 32 }

    func read(context: ChannelHandlerContext) {
      if isBehind { wantsRead = true } else { context.read() }
    }

    /// Whether nothing more is to be read: the server is behind with this session.
    private var isBehind: Bool {
      if phase != .open { return false }
      if !messages.isEmpty { return true }
      guard let unanswered = line?.unanswered else { return false }
      return unanswered.count >= limits.unanswered || unanswered.bytes >= limits.message
    }

    func resumeReading() {
      guard wantsRead, !isBehind else { return }
      wantsRead = false
      channel.read()
    }

    /// Takes note of bytes that are no whole frame yet.
    func hear(_ count: Int) {
      heard = .now()
      isAsked = false
      // What comes behind the last word is dropped.
      guard phase == .open else { return }
      unframed += count
      // What comes at once is soon a frame, or part of the next count.
      if unframed > 64 * 1024 { holdPart() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      unframed = 0
      let frame = unwrapInboundIn(data)
      if phase == .closing {
        if frame.opcode == .connectionClose { channel.close(promise: nil) }
        return
      }
      guard phase == .open else { return }
      guard frame.maskKey != nil else {
        return close(.protocolError, "A client masks its frames.")
      }
      guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
        return close(.protocolError, "No extension was agreed on.")
      }
      switch frame.opcode {
      case .text:
        if fragments != nil { return close(.protocolError, "A message is not whole.") }
        take(frame)
      case .continuation:
        if fragments == nil { return close(.protocolError, "There is nothing to continue.") }
        take(frame)
      case .binary: close(.unacceptableData, "Messages are text.")
      case .ping:
        send(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData))
        channel.flush()
        _ = isReadEnough()
      case .pong: break
      case .connectionClose: answerClose(frame)
      default: close(.protocolError, "The kind of frame is not known.")
      }
    }

    /// Takes a frame of text, or a part of one.
    private func take(_ frame: WebSocketFrame) {
      let data = frame.unmaskedData
      var bytes = Array(data.readableBytesView)
      if var before = fragments.take() {
        guard before.count + bytes.count <= limits.message else { return refuseSize() }
        before += bytes
        bytes = before
      }
      guard frame.fin else {
        fragments = bytes
        return holdPart()
      }
      do throws(WireError) {
        guard let message = try assembler.add(bytes) else { return holdPart() }
        messages.append(message)
      } catch {
        return refuse(error)
      }
      if !isHandling { handle() }
    }

    /// Takes note of a part of a message; one too many of all connections' is the session's end.
    private func holdPart() {
      if account(heldBytes) { return }
      logger.notice("The server holds too much of messages that are not whole, and a session ends.")
      abort()
    }

    /// Hands what came to the server, as far as it keeps up.
    func handle() {
      isHandling = true
      defer { isHandling = false }
      for _ in 0..<Self.turn {
        guard phase == .open, let line, let session else { return }
        guard !messages.isEmpty, line.unanswered.count < limits.unanswered else { break }
        let bytes = messages.removeFirst()
        do throws(WireError) {
          let message = try ClientMessage(decoding: bytes)
          line.ask(message, bytes.count)
          session.receive(message)
        } catch {
          return refuse(error)
        }
      }
      if messages.isEmpty { return resumeReading() }
      // Without room for more, the next answer goes on.
      guard let line, line.unanswered.count < limits.unanswered else { return }
      let bound = bound
      channel.eventLoop.execute { if !bound.value.isHandling { bound.value.handle() } }
    }

    /// Hands all that came to the server, as the client has gone: what it sent before counts.
    func handleRest() {
      guard phase == .open, let line, let session else { return }
      while let bytes = messages.popFirst() {
        guard let message = try? ClientMessage(decoding: bytes) else { return }
        line.ask(message, bytes.count)
        session.receive(message)
      }
    }

    private func refuse(_ error: WireError) {
      logger.notice("A message was not understood, and its connection is closed: \(error.message)")
      switch error.code {
      case .tooLarge: refuseSize()
      case .malformed: close(.dataInconsistentWithMessage, error.message)
      }
    }

    private func refuseSize() {
      close(.messageTooLarge, "A message has more than \(limits.message) bytes.")
    }

    /// The client closes: so do we.
    private func answerClose(_ frame: WebSocketFrame) {
      handleRest()
      phase = .closing
      closingSince = .now()
      endSession()
      var data = frame.unmaskedData
      // The code comes back, the words do not.
      let code = data.readSlice(length: 2) ?? ByteBuffer()
      let promise = channel.eventLoop.makePromise(of: Void.self)
      let channel = channel
      promise.futureResult.whenComplete { _ in channel.close(promise: nil) }
      send(WebSocketFrame(fin: true, opcode: .connectionClose, data: code), promise)
      channel.flush()
    }
  }
#endif
