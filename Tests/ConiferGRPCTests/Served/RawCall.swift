#if GRPC
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import SwiftProtobuf

  /// A call with a connection of its own, whose messages are those of a test.
  final class RawCall<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>: Sendable {
    private let requests: AsyncStream<Request>.Continuation
    private let answers = Mailbox<Result<Response, RPCError>>()
    private let task: Task<Void, Never>

    init(_ port: Int, _ method: String) {
      let (sent, requests) = AsyncStream<Request>.makeStream()
      self.requests = requests
      task = Task { [answers] in
        do {
          try await withGRPCClient(
            transport: .http2NIOPosix(
              target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext)
          ) { client in
            try await client.bidirectionalStreaming(
              request: StreamingClientRequest<Request> { writer in
                for await request in sent { try await writer.write(request) }
              },
              descriptor: MethodDescriptor(
                fullyQualifiedService: "google.firestore.v1.Firestore", method: method),
              serializer: ProtobufSerializer<Request>(),
              deserializer: ProtobufDeserializer<Response>(), options: .defaults
            ) { response in
              for try await answer in response.messages { answers.put(.success(answer)) }
            }
          }
        } catch let error as RPCError { answers.put(.failure(error)) } catch {}
        answers.end()
      }
    }

    deinit { task.cancel() }

    func send(_ request: Request) { requests.yield(request) }

    /// Nothing more is sent.
    func finish() { requests.finish() }

    /// Whether more answers may come.
    var isOpen: Bool { answers.isOpen }

    /// Goes away without a word.
    func cancel() { task.cancel() }

    /// The next answer.
    func next() async throws -> Response {
      guard let answer = await answers.next() else { throw Ended() }
      return try answer.get()
    }

    /// Why it ended, whatever came before; nil for a good end.
    func end() async -> StatusError? {
      while let answer = await answers.next() {
        if case .failure(let error) = answer {
          return StatusError(StatusCode(rawValue: error.code.rawValue) ?? .unknown, error.message)
        }
      }
      return nil
    }
  }
#endif
