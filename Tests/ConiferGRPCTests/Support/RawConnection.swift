#if GRPC
  import ConiferWire
  import NIOCore
  import NIOHPACK
  import NIOHTTP2
  import NIOPosix
  import SwiftProtobuf

  /// A connection of HTTP/2 whose calls send and read what a test says, byte for byte.
  final class RawConnection: Sendable {
    private let channel: any Channel
    private let streams: NIOHTTP2Handler.AsyncStreamMultiplexer<Void>
    /// What the server says of the connection: nil for an answer to a ping, or its last words.
    private let words = Mailbox<String?>()

    init(_ port: Int) async throws {
      let words = words
      (channel, streams) = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .connect(host: "127.0.0.1", port: port) { channel in
          channel.eventLoop.makeCompletedFuture {
            let streams = try channel.pipeline.syncOperations.configureAsyncHTTP2Pipeline(
              mode: .client, configuration: .init()
            ) { $0.eventLoop.makeSucceededVoidFuture() }
            try channel.pipeline.syncOperations.addHandler(ConnectionHandler(words))
            return (channel, streams)
          }
        }
    }

    deinit { channel.close(promise: nil) }

    /// Whether it is closed.
    var isClosed: Bool { !channel.isActive }

    /// Asks for a sign of life.
    ///
    /// - Returns: nil when one came; else the server's last words, with which it has ended the connection.
    func ping() async -> String? {
      channel.writeAndFlush(
        HTTP2Frame(streamID: .rootStream, payload: .ping(.init(withInteger: 1), ack: false)),
        promise: nil)
      return await words.next() ?? "closed"
    }

    /// Begins a call; its headers are sent.
    ///
    /// - Parameter reads: whether what the server says is read at once; otherwise once `read` is called.
    func call(_ method: String, token: String? = nil, reads: Bool = true) async throws -> RawStream
    {
      let events = Mailbox<RawStream.Event>()
      let stream = try await streams.openStream { channel in
        channel.setOption(.autoRead, value: reads).flatMapThrowing {
          try channel.pipeline.syncOperations.addHandler(EventsHandler(events))
          return channel
        }
      }
      var headers: HPACKHeaders = [
        ":method": "POST", ":scheme": "http", ":authority": "localhost",
        ":path": "/google.firestore.v1.Firestore/\(method)",
        "content-type": "application/grpc", "te": "trailers",
      ]
      if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
      try await stream.writeAndFlush(HTTP2Frame.FramePayload.headers(.init(headers: headers)))
      return RawStream(self, stream, events)
    }
  }

  /// One call of a connection.
  struct RawStream: Sendable {
    enum Event: Sendable {
      case headers(HPACKHeaders)
      case data([UInt8])
      case reset
    }

    /// It is open for as long as it has calls.
    private let connection: RawConnection
    private let channel: any Channel
    private let events: Mailbox<Event>

    init(_ connection: RawConnection, _ channel: any Channel, _ events: Mailbox<Event>) {
      self.connection = connection
      self.channel = channel
      self.events = events
    }

    /// The bytes of a message, and before them its length or another one.
    static func framed(_ message: [UInt8], length: Int? = nil) -> [UInt8] {
      let length = UInt32(length ?? message.count)
      return [0] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) } + message
    }

    func send(_ bytes: [UInt8], ends: Bool = false) async throws {
      let payload = HTTP2Frame.FramePayload.data(
        .init(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: ends))
      try await channel.writeAndFlush(payload)
    }

    /// Sends what the server may never read.
    func begin(_ bytes: [UInt8]) {
      channel.writeAndFlush(
        HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)))),
        promise: nil)
    }

    /// Reads what the server says from now on.
    func read() async throws {
      try await channel.setOption(.autoRead, value: true).get()
      channel.read()
    }

    /// Reads until the server has sent something of an answer; false when it has broken off.
    func readsSome() async -> Bool {
      while true {
        channel.read()
        switch await events.next() {
        case .data(let bytes): if !bytes.isEmpty { return true }
        case .headers: continue
        case .reset, nil: return false
        }
      }
    }

    /// Reads the first message of an answer, which is small; nil when the server has broken off.
    func message<Message: SwiftProtobuf.Message>(_: Message.Type) async throws -> Message? {
      var bytes: [UInt8] = []
      while true {
        channel.read()
        switch await events.next() {
        case .data(let some): bytes += some
        case .headers: continue
        case .reset, nil: return nil
        }
        let length = bytes.dropFirst().prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count >= 5 + length, bytes.count >= 5 else { continue }
        return try Message(serializedBytes: Array(bytes[5..<5 + length]))
      }
    }

    /// How the server has answered; nil when it has broken off.
    func status() async -> StatusCode? { await answer()?.code }

    /// How the server has answered, with its words; nil when it has broken off.
    func answer() async -> StatusError? {
      while let event = await events.next() {
        guard case .headers(let headers) = event else { continue }
        if let status = headers.first(name: "grpc-status").flatMap({ Int($0) }) {
          return StatusError(
            StatusCode(rawValue: status) ?? .unknown, headers.first(name: "grpc-message") ?? "")
        }
      }
      return nil
    }

    func close() async { try? await channel.close() }
  }

  /// Hands out what is said of the connection as a whole.
  private final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let words: Mailbox<String?>

    init(_ words: Mailbox<String?>) { self.words = words }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data).payload {
      case .ping(_, ack: true): words.put(nil)
      case .goAway(_, _, let bytes): words.put(bytes.map { String(buffer: $0) } ?? "")
      default: break
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      words.end()
      context.fireChannelInactive()
    }
  }

  private final class EventsHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload

    private let events: Mailbox<RawStream.Event>

    init(_ events: Mailbox<RawStream.Event>) { self.events = events }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .headers(let headers): events.put(.headers(headers.headers))
      case .data(let data):
        guard case .byteBuffer(let bytes) = data.data else { return }
        events.put(.data(Array(bytes.readableBytesView)))
      case .rstStream:
        events.put(.reset)
        events.end()
      default: break
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      events.end()
      context.fireChannelInactive()
    }
  }
#endif
