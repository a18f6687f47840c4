#if GRPC
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import SwiftProtobuf

  /// Answers the calls of `google.firestore.v1.Firestore` over a server of documents.
  ///
  /// The token of a call (`authorization: Bearer`) is shown to the server, whose `DocumentAccess` knows who it stands for
  /// and what that user may do.
  struct FirestoreService: RegistrableRPCService {
    let server: DocumentServer
    let calls: CallTable
    let memory: RequestMemory

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
      serve("GetDocument", &router) { [self] in try await get($0, $1, $2) }
      serve("ListDocuments", &router) { [self] in try await list($0, $1, $2) }
      serve("CreateDocument", &router) { [self] in try await create($0, $1, $2) }
      serve("UpdateDocument", &router) { [self] in try await update($0, $1, $2) }
      serve("DeleteDocument", &router) { [self] in try await delete($0, $1, $2) }
      serve("BatchGetDocuments", &router) { [self] in try await batchGet($0, $1, $2) }
      serve("BeginTransaction", &router) { [self] in try await begin($0, $1, $2) }
      serve("Commit", &router) { [self] in try await commit($0, $1, $2) }
      serve("Rollback", &router) { [self] in try await rollBack($0, $1, $2) }
      serve("RunQuery", &router) { [self] in try await runQuery($0, $1, $2) }
      serve("RunAggregationQuery", &router) { [self] in try await aggregate($0, $1, $2) }
      serve("BatchWrite", &router) { [self] in try await batchWrite($0, $1, $2) }
      serve("ListCollectionIds", &router) { [self] in try await listCollectionIDs($0, $1, $2) }
      for name in ["PartitionQuery", "ExecutePipeline"] {
        serve(name, &router) {
          (_: Google_Protobuf_Empty, _: String?, _: Answer<Google_Protobuf_Empty>) in
          throw StatusError(.unimplemented, "This server does not do \(name). Run a query.")
        }
      }
      stream("Listen", &router) { [self] in
        try await ListenCall(server, token: $0).run($1, $2, calls)
      }
      stream("Write", &router) { [self] in
        try await WriteCall(server, token: $0).run($1, $2, calls)
      }
    }

    /// Where answers go; it waits while the client does not read.
    typealias Answer<Message: SwiftProtobuf.Message> = RPCWriter<Message>

    /// Serves calls of one request.
    private func serve<Request, Response, Transport: ServerTransport>(
      _ name: String, _ router: inout RPCRouter<Transport>,
      _ answer:
        @escaping @Sendable (Request, _ token: String?, Answer<Response>) async throws -> Void
    ) where Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message {
      stream(name, &router) {
        [calls] (token, requests: RPCAsyncSequence<Request, any Error>, writer: Answer<Response>) in
        let number = try calls.begin(nil)
        defer { calls.end(number) }
        guard let request = try await requests.first(where: { _ in true }) else {
          throw StatusError(.invalidArgument, "The call has no request.")
        }
        try await answer(request, token, writer)
      }
    }

    /// Serves calls of any number of requests and answers.
    private func stream<Request, Response, Transport: ServerTransport>(
      _ name: String, _ router: inout RPCRouter<Transport>,
      _ answer:
        @escaping @Sendable (
          _ token: String?, RPCAsyncSequence<Request, any Error>, Answer<Response>
        ) async throws -> Void
    ) where Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message {
      router.registerHandler(
        forMethod: MethodDescriptor(
          fullyQualifiedService: "google.firestore.v1.Firestore", method: name),
        deserializer: ProtobufDeserializer<Request>(),
        serializer: ProtobufSerializer<Response>()
      ) { [server, memory] request, _ in
        let token = Self.token(of: request.metadata)
        // The headers tell who calls: nobody's messages are not read.
        do throws(StatusError) { try server.authenticate(token) } catch {
          throw RPCError(answering: error)
        }
        var requests = request.messages
        if let share = memory.share(of: request.metadata) {
          requests = RPCAsyncSequence(
            wrapping: CountedRequests(requests: request.messages, share: share))
        }
        // The headers go out before the first answer: clients know then that the call has arrived.
        return StreamingServerResponse { [requests] writer in
          do {
            try await answer(token, requests, writer)
          } catch { throw RPCError(answering: error) }
          return [:]
        }
      }
    }

    private static func token(of metadata: Metadata) -> String? {
      guard let header = metadata[stringValues: "authorization"].first(where: { _ in true }) else {
        return nil
      }
      let parts = header.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
      return String(parts[1])
    }
  }

  extension RequestMemory {
    /// The part of a call with such headers.
    fileprivate func share(of metadata: Metadata) -> RequestShare? {
      metadata[stringValues: RequestSizeHandler.header].first { _ in true }.flatMap { UInt64($0) }
        .flatMap(share)
    }
  }
#endif
