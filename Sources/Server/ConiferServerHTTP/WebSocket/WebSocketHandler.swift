#if Network
  import ConiferServer
  import ConiferWire
  import Logging
  import NIOCore
  import NIOWebSocket

  /// One WebSocket: a session of the server, whose messages are text frames.
  ///
  /// The session ends with the socket, however that ends, and its memory is released.
  final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    enum Phase {
      case open
      /// A close frame was sent; waiting for the client's.
      case closing
      case closed
    }

    /// The database that the client connected to, and its last session.
    struct Target {
      let namespace: String
      let host: String?
      let lastSession: String?
    }

    let owner: HTTPServer
    let channel: any Channel
    private let target: Target
    var phase = Phase.open
    var session: ServerSession?
    /// The server's messages; nil when the session has ended.
    var line: SessionLine?

    /// What comes.
    var incoming: IncomingMessages
    var wantsRead = false
    var isHandling = false

    // What goes.
    /// All bytes that were written, sent or waiting.
    var written = 0
    /// The memory that was last counted.
    let share: MemoryShare

    // Time.
    var heard = NIODeadline.now()
    var isAsked = false
    var closingSince = NIODeadline.now()
    /// When bytes were last sent, and how many until then.
    var progress = (at: NIODeadline.now(), gone: 0)
    private var clock: RepeatedTask?

    init(
      _ owner: HTTPServer, on channel: any Channel, namespace: String, host: String?,
      lastSession: String?
    ) {
      self.owner = owner
      self.channel = channel
      share = owner.connections.share()
      target = Target(namespace: namespace, host: host, lastSession: lastSession)
      incoming = IncomingMessages(owner.configuration.limits)
    }

    var limits: HTTPServerLimits { owner.configuration.limits }
    var logger: Logger { owner.configuration.logger }

    /// The handler for closures that run on the channel's own loop.
    var bound: NIOLoopBound<WebSocketHandler> { NIOLoopBound(self, eventLoop: channel.eventLoop) }

    func handlerAdded(context: ChannelHandlerContext) {
      let (bound, loop) = (bound, channel.eventLoop)
      let interval = TimeAmount(owner.configuration.timeouts.look)
      clock = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
        bound.value.look()
      }
      let line = SessionLine { loop.execute { bound.value.sendWaiting() } }
      self.line = line
      session = owner.server.connect(
        to: target.namespace, host: target.host, lastSession: target.lastSession
      ) { line.receive($0) }
      // The server may have stopped while the request was on its way.
      if owner.connections.isStopping { close(.goingAway, "The server stops.") }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      clock?.cancel()
      clock = nil
      end()
    }

    func channelInactive(context: ChannelHandlerContext) {
      handleRest()
      end()
      context.fireChannelInactive()
    }

    /// Ends the session, and releases its memory.
    func end() {
      phase = .closed
      endSession()
      incoming.end()
      account(0)
    }

    func endSession() {
      // Requests that wait for the store keep their memory, although nobody waits for the answers.
      let rest = owner.connections.share()
      rest.hold(line?.unanswered.memory ?? 0)
      line.take()?.close(leaving: rest)
      session.take()?.end()
    }

    // MARK: Closing

    /// Sends a close frame, ends the session, and closes when the client has answered it.
    func close(_ code: WebSocketErrorCode, _ reason: String) {
      guard phase == .open else { return }
      phase = .closing
      closingSince = .now()
      endSession()
      incoming.end()
      var data = channel.allocator.buffer(capacity: 125)
      data.write(webSocketErrorCode: code)
      data.writeString(Self.short(reason))
      send(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
      channel.flush()
      resumeReading()
    }

    /// Closes at once.
    func abort() {
      guard phase != .closed else { return }
      end()
      channel.close(promise: nil)
    }

    /// The reason cut to the size of a close frame, between characters.
    private static func short(_ reason: String) -> String {
      var text = ""
      for character in reason {
        if text.utf8.count + character.utf8.count > 123 { break }
        text.append(character)
      }
      return text
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      switch event {
      // A client that closed its sending side has gone.
      case ChannelEvent.inputClosed:
        handleRest()
        abort()
      case is ChannelShouldQuiesceEvent:
        sendWaiting()
        close(.goingAway, "The server stops.")
      default: context.fireUserInboundEventTriggered(event)
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      // After a close frame only the client's end is awaited.
      if phase == .open { abort() }
    }
  }
#endif
