#if Network
  import ConiferServer
  import ConiferWire
  import Logging
  import NIOCore
  import NIOWebSocket

  extension WebSocketHandler {
    /// The number of messages that are written before other connections of the loop get their turn.
    private static var turn: (messages: Int, bytes: Int) { (256, 1024 * 1024) }

    /// Sends queued messages, as long as the client reads.
    func sendWaiting() {
      guard phase == .open, let line else { return }
      var (messages, bytes) = (0, 0)
      while true {
        if messages == Self.turn.messages || bytes >= Self.turn.bytes {
          channel.flush()
          guard isReadEnough() else { return }
          let bound = bound
          return channel.eventLoop.execute { bound.value.sendWaiting() }
        }
        switch line.next() {
        case .message(let message, let nothing):
          messages += 1
          bytes += send(message, nothing)
        case .closed(let reason): return close(.goingAway, reason)
        case nil:
          channel.flush()
          if isReadEnough(), !isHandling { handle() }
          return
        }
      }
    }

    /// - Returns: the number of bytes.
    private func send(_ message: ServerMessage, _ nothing: EmptyAnswer) -> Int {
      var count = 0
      for frame in Frames.split(message.encoded(nothing: nothing)) {
        count += frame.count
        send(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: frame)))
      }
      return count
    }

    func send(_ frame: WebSocketFrame, _ promise: EventLoopPromise<Void>? = nil) {
      let count = frame.data.readableBytes
      written += count + (count < 126 ? 2 : count < 65_536 ? 4 : 10)
      channel.pipeline.syncOperations.write(NIOAny(frame), promise: promise)
    }

    /// Whether the client reads fast enough; otherwise its session is ended.
    func isReadEnough() -> Bool {
      let waiting = channel.waitingBytes
      let isRoom = claim(heldBytes)
      if waiting <= limits.unread, isRoom { return true }
      logger.notice("A client reads too slowly: \(waiting) bytes wait, and its session ends.")
      abort()
      return false
    }

    /// The memory of this connection: bytes that wait for the client, incomplete and unhandled
    /// messages, and unanswered requests.
    var heldBytes: Int {
      channel.waitingBytes + incoming.heldBytes + (line?.unanswered.memory ?? 0)
    }

    /// Counts the held bytes.
    func account(_ count: Int) { share.hold(count) }

    /// Counts the held bytes, if there is room for them; otherwise the session must end.
    ///
    /// - Parameter isAsking: whether a request is among them.
    func claim(_ count: Int, isAsking: Bool = false) -> Bool {
      // A request is kept, as its client would only send it again.
      share.claim(count, mayExceed: isAsking || (line?.unanswered.count ?? 0) > 0)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      if phase != .closed { account(heldBytes) }
      context.fireChannelWritabilityChanged()
    }

    // MARK: Time

    /// Ends a session that is silent, or does not read.
    func look() {
      let now = NIODeadline.now()
      let timeouts = owner.configuration.timeouts
      let waiting = channel.waitingBytes
      switch phase {
      case .open:
        if now - heard > TimeAmount(timeouts.silence) {
          logger.debug("A client is silent, and its session ends.")
          return abort()
        }
        if incoming.age(now, isPaused: isBehind) > TimeAmount(timeouts.request) {
          logger.debug("A message takes too long to come, and its session ends.")
          return close(.policyViolation, "A message took too long to come.")
        }
        let gone = written - waiting
        if waiting == 0 || gone != progress.gone { progress = (now, gone) }
        if now - progress.at > TimeAmount(timeouts.write) {
          logger.notice("A client reads nothing, and its session ends.")
          return abort()
        }
        account(heldBytes)
        if !isAsked, now - heard > TimeAmount(timeouts.ping) {
          isAsked = true
          send(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()))
          channel.flush()
        }
      case .closing:
        if now - closingSince > TimeAmount(timeouts.close) { channel.close(promise: nil) }
      case .closed: break
      }
    }
  }
#endif
