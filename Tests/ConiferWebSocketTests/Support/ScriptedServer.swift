#if Network
  import ConiferWire
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
  import NIOWebSocket
  import Synchronization

  /// A server that does what a test says, on the loopback.
  final class ScriptedServer: Sendable {
    let port: Int
    private let channel: any Channel
    private let accepted: AsyncStream<ScriptedSocket>
    private let counter: Counter

    /// A server.
    ///
    /// - Parameters:
    ///   - isRaw: whether it speaks no HTTP, but sends the bytes that a test gives.
    ///   - isReading: whether its sockets read before a test says so.
    ///   - security: for an encrypted one.
    init(isRaw: Bool = false, isReading: Bool = true, security: NIOSSLContext? = nil) async throws {
      let (accepted, line) = AsyncStream<ScriptedSocket>.makeStream()
      let counter = Counter()
      self.accepted = accepted
      self.counter = counter
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let security { try pipeline.addHandler(NIOSSLServerHandler(context: security)) }
            if isRaw {
              line.yield(ScriptedSocket(channel, nil))
              counter.raw.add(1, ordering: .relaxed)
              return
            }
            let upgrader = NIOWebSocketServerUpgrader(
              maxFrameSize: 1 << 20,
              shouldUpgrade: { channel, head in
                let isAsked = head.uri.hasPrefix("/.ws?")
                return channel.eventLoop.makeSucceededFuture(isAsked ? HTTPHeaders() : nil)
              },
              upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                  let socket = ScriptedSocket(channel, head)
                  try channel.pipeline.syncOperations.addHandler(ScriptedHandler(socket))
                  line.yield(socket)
                  if !isReading {
                    try channel.syncOptions?.setOption(.autoRead, value: false)
                  }
                }
              })
            try pipeline.configureHTTPServerPipeline(
              withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    var url: String { "ws://127.0.0.1:\(port)" }

    /// How many connections a raw server took.
    var taken: Int { counter.raw.load(ordering: .relaxed) }

    /// The next connection.
    func next() async -> ScriptedSocket? {
      var iterator = accepted.makeAsyncIterator()
      return await iterator.next()
    }
  }

  private final class Counter: Sendable {
    let raw = Atomic(0)
  }

  /// One connection of a scripted server.
  final class ScriptedSocket: Sendable {
    /// What the client asked for; nil for a raw one.
    let head: HTTPRequestHead?
    let channel: any Channel
    fileprivate let line: AsyncStream<String>.Continuation
    private let texts: AsyncStream<String>

    fileprivate init(_ channel: any Channel, _ head: HTTPRequestHead?) {
      self.channel = channel
      self.head = head
      (texts, line) = AsyncStream.makeStream()
    }

    /// The next text frame, or what a close frame said; nil when the socket is closed.
    func next() async -> String? {
      var iterator = texts.makeAsyncIterator()
      return await iterator.next()
    }

    /// The next message, of one or more frames.
    func message() async throws -> ClientMessage? {
      var assembler = FrameAssembler(limit: 64 << 20)
      while let text = await next() {
        if let bytes = assembler.add(Array(text.utf8))?.text {
          return try ClientMessage(decoding: bytes)
        }
      }
      return nil
    }

    /// Sends a text frame.
    func send(_ text: String) {
      let data = ByteBuffer(string: text)
      channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .text, data: data), promise: nil)
    }

    /// Sends a message in its frames.
    func send(_ message: ServerMessage) {
      for frame in Frames.split(message.encoded()) { send(String(decoding: frame, as: UTF8.self)) }
    }

    /// Sends a frame.
    func send(_ opcode: WebSocketOpcode, _ text: String, fin: Bool = true) {
      let data = ByteBuffer(string: text)
      channel.writeAndFlush(WebSocketFrame(fin: fin, opcode: opcode, data: data), promise: nil)
    }

    /// Sends bytes past all codecs; of a raw socket, or of one with an encoder before the frames'.
    func send(raw bytes: [UInt8]) async throws {
      let context = try await channel.pipeline.containsHandler(type: WebSocketFrameEncoder.self)
        .map { true }.recover { _ in false }.get()
      if context {
        try await channel.pipeline.context(handlerType: WebSocketFrameEncoder.self)
          .flatMap { $0.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes))) }.get()
      } else {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
      }
    }

    func close() { channel.close(promise: nil) }
  }

  private final class ScriptedHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let socket: ScriptedSocket

    init(_ socket: ScriptedSocket) { self.socket = socket }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var frame = unwrapInboundIn(data)
      var content = frame.unmaskedData
      switch frame.opcode {
      case .text: socket.line.yield(String(buffer: content))
      case .ping: socket.line.yield("ping")
      case .pong: socket.line.yield("pong " + String(buffer: content))
      case .connectionClose:
        let code = content.readWebSocketErrorCode()
        socket.line.yield("close \(code.map { "\(UInt16(webSocketErrorCode: $0))" } ?? "")")
        frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: ByteBuffer())
        context.channel.writeAndFlush(frame, promise: nil)
        context.close(promise: nil)
      default: break
      }
    }

    func channelInactive(context: ChannelHandlerContext) { socket.line.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
#endif
