#if Network
  import ConiferServer
  import NIOCore
  import NIOHTTP1
  import NIOWebSocket

  /// One HTTP connection: reads requests one after the other, passes them to responders, and writes
  /// the answers in order.
  ///
  /// Nothing is read while an answer is under way, so pipelined requests wait in the client's
  /// buffers, except the few bytes that were already read.
  final class HTTPHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    enum Phase {
      /// No part of a request was received.
      case idle
      /// A request's head was received, and its body is being received.
      case receiving
      /// A request is being answered.
      case answering
      /// The last answer was sent. Further bytes are thrown away until the client closes, as it
      /// might not see the answer otherwise.
      case lingering
    }

    /// Input that was received while a request was being answered.
    private enum Waiting {
      case part(HTTPServerRequestPart)
      /// The input cannot be parsed.
      case fault(HTTPParserError)
    }

    /// A request that was received in part or completely.
    struct Incoming {
      let head: HTTPRequestHead
      let target: RequestTarget
      let namespace: String
      var body: [UInt8] = []
      /// Its memory.
      var cost = JSONCost()

      /// Removes and returns the body.
      mutating func takeBody() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &body)
        return taken
      }
    }

    let owner: HTTPServer
    let channel: any Channel
    var phase = Phase.idle
    var incoming: Incoming?
    /// The answer under way; it is cancelled when the client goes.
    var answer: Task<Void, Never>?
    /// Whether the answer under way is a stream, which may have no end of its own.
    var isStreaming = false
    /// Whether the connection stays open after the answer under way.
    var keepsAlive = true
    var isQuiescing = false
    private var isInputClosed = false
    private var waiting = CircularBuffer<Waiting>()
    private var wantsRead = false
    /// The memory of the present request, then of its answer. The responder holds it too while it
    /// has the body, even after the connection has ended.
    var share: MemoryShare

    /// When the phase began, or its last part was received.
    var since = NIODeadline.now()
    /// When the present request began to arrive.
    var began = NIODeadline.now()
    /// When bytes were last written, and how many waited then.
    var progress = (at: NIODeadline.now(), waiting: 0)
    private var clock: RepeatedTask?

    init(_ owner: HTTPServer, on channel: any Channel) {
      self.owner = owner
      self.channel = channel
      share = owner.connections.share()
    }

    var limits: HTTPServerLimits { owner.configuration.limits }

    /// The handler for closures that run on the channel's own loop.
    var bound: NIOLoopBound<HTTPHandler> { NIOLoopBound(self, eventLoop: channel.eventLoop) }

    func handlerAdded(context: ChannelHandlerContext) {
      let interval = TimeAmount(owner.configuration.timeouts.look)
      let bound = bound
      clock = channel.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
        bound.value.look()
      }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      clock?.cancel()
      clock = nil
      stopAnswer()
    }

    func channelInactive(context: ChannelHandlerContext) {
      stopAnswer()
      context.fireChannelInactive()
    }

    private func stopAnswer() {
      answer?.cancel()
      answer = nil
      incoming = nil
      share = owner.connections.share()
    }

    // MARK: Reading

    func read(context: ChannelHandlerContext) {
      if phase == .answering { wantsRead = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let part = unwrapInboundIn(data)
      switch phase {
      case .answering: waiting.append(.part(part))
      case .lingering: break
      case .idle, .receiving: take(part)
      }
    }

    private func take(_ part: HTTPServerRequestPart) {
      since = .now()
      switch part {
      case .head(let head): takeHead(head)
      case .body(let bytes): takeBody(bytes)
      case .end: begin()
      }
    }

    private func takeBody(_ bytes: ByteBuffer) {
      guard let count = incoming?.body.count else { return }
      guard count + bytes.readableBytes <= limits.body else { return refuseSize() }
      incoming?.cost.add(bytes.readableBytesView)
      let memory = incoming?.cost.memory ?? 0
      guard memory <= limits.total else {
        return refuse(413, "The body takes more than \(limits.total) bytes of memory.")
      }
      guard share.claim(memory, mayExceed: true) else {
        return refuse(503, "The server is busy. Try again later.")
      }
      incoming?.body.append(contentsOf: bytes.readableBytesView)
    }

    private func takeHead(_ head: HTTPRequestHead) {
      began = since
      // After a request for another protocol nothing more is read.
      keepsAlive = head.isKeepAlive && !head.headers.contains(name: "upgrade")
      phase = .receiving
      // This check comes first, so that a client that may not send requests learns nothing.
      switch owner.origins.verdict(OriginPolicy.Question(head, at: channel.localAddress)) {
      case .allowed: break
      case .malformed: return refuse(400, "A request must have exactly one Host header.")
      case .foreignHost:
        return refuse(
          403,
          "The server has no such name. Use localhost, or name the host with conifer serve --origin."
        )
      case .foreignOrigin:
        return refuse(
          403, "Pages of this origin may not send requests. Allow them with conifer serve --origin."
        )
      }
      guard let target = RequestTarget(head.uri) else {
        return refuse(400, "The request's target must be a path with an optional query.")
      }
      let host = target.authority ?? head.headers.first(name: "host")
      guard
        let namespace = NamespaceName.name(
          parameter: target.parameter("ns"), host: host, else: owner.configuration.namespace)
      else { return refuse(400, "A database's name is 1 to 100 of a-z, A-Z, 0-9, - and _.") }
      switch ContentLength(head.headers) {
      case .none: break
      case .bytes(let count): if count > limits.body { return refuseSize() }
      case .tooLarge: return refuseSize()
      case .malformed: return refuse(400, "Content-Length must be one number.")
      }
      // Another coding would be mistaken for data.
      let codings = head.headers[canonicalForm: "transfer-encoding"]
      guard codings.allSatisfy({ $0.lowercased() == "chunked" }) else {
        return refuse(501, "The only supported Transfer-Encoding is chunked.")
      }
      incoming = Incoming(head: head, target: target, namespace: namespace)
      if let expected = head.headers.first(name: "expect") {
        guard expected.lowercased() == "100-continue" else {
          return refuse(417, "The only supported Expect header is 100-continue.")
        }
        let go = HTTPResponseHead(version: .http1_1, status: .continue)
        channel.pipeline.syncOperations.writeAndFlush(
          NIOAny(HTTPServerResponsePart.head(go)), promise: nil)
      }
    }

    /// Continues after an answer: with waiting input, or with reading.
    func continueAfterAnswer() {
      share = owner.connections.share()
      answer = nil
      isStreaming = false
      guard keepsAlive, !isQuiescing else { return linger() }
      phase = .idle
      since = .now()
      while phase != .answering, phase != .lingering, let next = waiting.popFirst() {
        switch next {
        case .part(let part): take(part)
        case .fault(let fault): take(fault)
        }
      }
      switch phase {
      case .idle, .receiving:
        if isInputClosed { return channel.close(promise: nil) }
        if wantsRead {
          wantsRead = false
          channel.read()
        }
      case .answering, .lingering: break
      }
    }

    /// Closes the sending side, and waits for the client to close.
    func linger() {
      phase = .lingering
      since = .now()
      waiting.removeAll()
      incoming = nil
      guard channel.isActive else { return }
      if isInputClosed { return channel.close(promise: nil) }
      channel.close(mode: .output, promise: nil)
      if wantsRead {
        wantsRead = false
        channel.read()
      }
    }

    private func refuseSize() { refuse(413, "The body has more than \(limits.body) bytes.") }

    // MARK: Events

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      switch event {
      case ChannelEvent.inputClosed:
        isInputClosed = true
        switch phase {
        case .idle, .receiving, .lingering: channel.close(promise: nil)
        case .answering:
          // A complete answer is still sent; for a stream, a client that closed its sending side
          // has gone.
          if isStreaming { channel.close(promise: nil) }
        }
      case is ChannelShouldQuiesceEvent:
        isQuiescing = true
        switch phase {
        case .idle: linger()
        case .answering:
          if isStreaming { answer?.cancel() }
        case .receiving, .lingering: break
        }
      default: context.fireUserInboundEventTriggered(event)
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      // A refused WebSocket upgrade is answered like any request.
      if error is NIOWebSocketUpgradeError { return }
      guard let fault = error as? HTTPParserError else { return channel.close(promise: nil) }
      switch phase {
      case .idle, .receiving: take(fault)
      // The requests before it are answered.
      case .answering: waiting.append(.fault(fault))
      case .lingering: channel.close(promise: nil)
      }
    }

    private func take(_ fault: HTTPParserError) {
      if case .headerOverflow = fault {
        refuse(431, "The headers have more than \(limits.head) bytes, or are too many.")
      } else {
        refuse(400, "This is not an HTTP request.")
      }
    }
  }
#endif
