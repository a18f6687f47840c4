#if Network
  import ConiferServer
  import NIOCore
  import NIOHTTP1
  import NIOWebSocket

  /// One HTTP connection: takes requests in one after the other, has them answered, and answers in
  /// their order.
  ///
  /// Nothing is read while an answer is under way, so that what a client sends ahead waits in its own
  /// buffers but for the little that was read already.
  final class HTTPHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    enum Phase {
      /// Nothing of a request is here.
      case idle
      /// A request's head is here, and its body comes.
      case receiving
      /// A request is being answered.
      case answering
      /// All has been said. What still comes is thrown away until the client closes, as it might not
      /// see the answer otherwise.
      case lingering
    }

    /// What came while a request was being answered.
    private enum Waiting {
      case part(HTTPServerRequestPart)
      /// Nothing that could be read follows.
      case fault(HTTPParserError)
    }

    /// A request that is here in part or whole.
    struct Incoming {
      let head: HTTPRequestHead
      let target: RequestTarget
      let namespace: String
      var body: [UInt8] = []
      /// What it takes.
      var cost = JSONCost()

      /// The body, which is not held here any more.
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
    /// What the request under way takes, and then its answer. Who answers holds it too, as long as it
    /// has the body, also when the connection has ended.
    var share: MemoryShare

    /// When the phase began, or its last part came.
    var since = NIODeadline.now()
    /// When the request under way began to come.
    var began = NIODeadline.now()
    /// When bytes last went out, and what waited then.
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
        return refuse(503, "The server has too much to do.")
      }
      incoming?.body.append(contentsOf: bytes.readableBytesView)
    }

    private func takeHead(_ head: HTTPRequestHead) {
      began = since
      // Behind a request for another protocol no other one is read.
      keepsAlive = head.isKeepAlive && !head.headers.contains(name: "upgrade")
      phase = .receiving
      // Before anything else: whoever may not ask learns nothing.
      switch owner.origins.verdict(OriginPolicy.Question(head, at: channel.localAddress)) {
      case .allowed: break
      case .malformed: return refuse(400, "A request has one Host.")
      case .foreignHost:
        return refuse(
          403,
          "The server has no such name: use localhost, or let conifer serve --origin name it.")
      case .foreignOrigin:
        return refuse(403, "Pages of this origin may not ask; conifer serve --origin lets them.")
      }
      guard let target = RequestTarget(head.uri) else {
        return refuse(400, "The request's target is no path with a query.")
      }
      let host = target.authority ?? head.headers.first(name: "host")
      guard
        let namespace = NamespaceName.name(
          parameter: target.parameter("ns"), host: host, else: owner.configuration.namespace)
      else { return refuse(400, "A database's name is 1 to 100 of a-z, A-Z, 0-9, - and _.") }
      switch ContentLength(head.headers) {
      case .none: break
      case .bytes(let count): if count > limits.body { return refuseSize() }
      case .beyondMeasure: return refuseSize()
      case .malformed: return refuse(400, "The length of the body is no number, or several.")
      }
      // Any other coding would be taken for data.
      let codings = head.headers[canonicalForm: "transfer-encoding"]
      guard codings.allSatisfy({ $0.lowercased() == "chunked" }) else {
        return refuse(501, "The only coding of a transfer is chunked.")
      }
      incoming = Incoming(head: head, target: target, namespace: namespace)
      if let expected = head.headers.first(name: "expect") {
        guard expected.lowercased() == "100-continue" else {
          return refuse(417, "Only 100-continue may be expected.")
        }
        let go = HTTPResponseHead(version: .http1_1, status: .continue)
        channel.pipeline.syncOperations.writeAndFlush(
          NIOAny(HTTPServerResponsePart.head(go)), promise: nil)
      }
    }

    /// Goes on after an answer: with what waits, or with reading.
    func goOn() {
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

    /// Says that all was said, and waits for the client to close.
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
          // A whole answer is still given; a stream's reader that says nothing more has gone.
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
      // What asked to become a WebSocket in vain is answered as any request.
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
        refuse(400, "This is no HTTP request.")
      }
    }
  }
#endif
