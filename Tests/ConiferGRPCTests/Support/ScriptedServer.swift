#if GRPC
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import SwiftProtobuf
  import Synchronization

  /// A server that answers as a test says.
  final class ScriptedServer: Sendable {
    private let server: GRPCServer<HTTP2ServerTransport.Posix>
    private let running: Task<Void, Never>
    private let calls: Mailbox<ScriptedCall>
    let port: Int

    /// - Parameter security: how connections are secured.
    init(security: HTTP2ServerTransport.Posix.TransportSecurity = .plaintext) async throws {
      let calls = Mailbox<ScriptedCall>()
      var config = HTTP2ServerTransport.Posix.Config.defaults
      // Tests ask for signs of life far more often than a server likes.
      config.connection.keepalive.clientBehavior.minPingIntervalWithoutCalls = .zero
      let transport = HTTP2ServerTransport.Posix(
        address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: security, config: config)
      let server = GRPCServer(transport: transport, services: [ScriptedService(calls: calls)])
      self.calls = calls
      self.server = server
      running = Task { try? await server.serve() }
      self.port = try await transport.listeningAddress.ipv4?.port ?? 0
    }

    /// A stream that a client opens while the server is cancelled would be nobody's, at which SwiftNIO traps.
    deinit { server.beginGracefulShutdown() }

    /// The next call of a client.
    func next() async throws -> ScriptedCall {
      guard let call = await calls.next() else { throw Ended() }
      return call
    }

    /// How many calls nobody has taken.
    var waiting: Int { calls.count }

    /// Ends all connections, and waits until that is done.
    func stop() async {
      running.cancel()
      await running.value
    }
  }

  /// Something else came than a test waited for, or nothing does any more.
  struct Ended: Error {
    var instead = "nothing"
  }

  /// A call as the server has it.
  final class ScriptedCall: Sendable {
    enum Outgoing: Sendable {
      case message([UInt8])
      case end(RPCError?)
    }

    let method: String
    let metadata: Metadata
    /// Who called.
    let peer: String
    let inbound = Mailbox<[UInt8]>()
    private let sent = Mutex(0)
    fileprivate let outgoing: AsyncStream<Outgoing>
    private let continuation: AsyncStream<Outgoing>.Continuation

    init(_ method: String, _ metadata: Metadata, from peer: String) {
      self.method = method
      self.metadata = metadata
      self.peer = peer
      (outgoing, continuation) = AsyncStream.makeStream()
    }

    /// A header's first value.
    func header(_ name: String) -> String? {
      metadata[stringValues: name].first { _ in true }
    }

    /// The client's next message.
    func receive<Message: SwiftProtobuf.Message>(_: Message.Type = Message.self) async throws
      -> Message
    {
      guard let bytes = await inbound.next() else { throw Ended() }
      return try Message(serializedBytes: bytes)
    }

    /// Returns once the client has ended the call.
    func ended() async { while await inbound.next() != nil {} }

    func send(_ message: some SwiftProtobuf.Message) throws {
      continuation.yield(.message(try message.serializedBytes()))
    }

    /// Sends bytes, whether they are a message or not.
    func send(_ bytes: [UInt8]) { continuation.yield(.message(bytes)) }

    /// Ends the call; nil for a good end.
    func end(_ error: RPCError? = nil) {
      continuation.yield(.end(error))
      continuation.finish()
    }

    func close() { continuation.finish() }

    /// How many messages the connection took.
    var sentCount: Int { sent.withLock { $0 } }
    func countSent() { sent.withLock { $0 += 1 } }
  }

  private struct Raw: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes {
      Bytes(message)
    }
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
      bytes.withUnsafeBytes { Array($0) }
    }
  }

  private struct ScriptedService: RegistrableRPCService {
    let calls: Mailbox<ScriptedCall>

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
      for name in ["Listen", "Write", "BatchGetDocuments", "Commit", "RunAggregationQuery"] {
        router.registerHandler(
          forMethod: MethodDescriptor(
            fullyQualifiedService: "google.firestore.v1.Firestore", method: name),
          deserializer: Raw(), serializer: Raw()
        ) { request, context in
          let call = ScriptedCall(name, request.metadata, from: context.remotePeer)
          calls.put(call)
          return StreamingServerResponse { writer in
            try await withThrowingTaskGroup(of: Void.self) { group in
              group.addTask {
                defer { call.inbound.end() }
                for try await message in request.messages { call.inbound.put(message) }
              }
              for await out in call.outgoing {
                switch out {
                case .message(let bytes):
                  try await writer.write(bytes)
                  call.countSent()
                case .end(let error):
                  group.cancelAll()
                  if let error { throw error }
                }
              }
              group.cancelAll()
            }
            return [:]
          }
        }
      }
    }
  }
#endif
