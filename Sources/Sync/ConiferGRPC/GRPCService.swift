#if GRPC
  import ConiferDocument
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import SwiftProtobuf
  import Synchronization

  /// A database of a server that speaks Firestore's protocol over gRPC.
  struct GRPCService: DocumentService {
    private let line: GRPCLine
    private let database: DatabaseID
    private let options: GRPCOptions
    private let writes = SerialCalls()

    /// - Parameters:
    ///   - appTokens: the app's own tokens; nil for none.
    ///   - interceptors: what stands between its calls and the connection.
    ///   - sleep: waits for so long, or until the task is cancelled.
    init(
      _ database: DatabaseID, at address: GRPCAddress, _ options: GRPCOptions,
      appTokens: AppCheckTokens? = nil, interceptors: [any ClientInterceptor] = [],
      sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
      line = GRPCLine(address, options, appTokens, interceptors, sleep: sleep)
      self.database = database
      self.options = options
    }

    // MARK: Streams

    func openWatch(
      token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
    ) -> any WatchStream {
      let call = GRPCWatchStream.Call(
        line, Self.method("Listen"), metadata(token), closing: .cancelling,
        credit: StreamCredit(WatchStreamLimits.ahead, bytes: WatchStreamLimits.bytesAhead),
        read: { [database] received in
          switch received.content {
          case .success(let message): try WatchChange.read(message, in: database)
          case .failure(let unreadable):
            (try WatchChange.read(unreadable: unreadable.bytes, unreadable.error), nil)
          }
        },
        { event in
          switch event {
          case .opened: receive(.opened)
          case .said(let said): receive(.said(said.change, version: said.version))
          case .closed(let error): receive(.closed(error))
          }
        })
      call.begin()
      return GRPCWatchStream(call, database)
    }

    func openWrites(
      token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
    ) -> any WriteStream {
      let isGreeted = Mutex(false)
      let call = GRPCWriteStream.Call(
        line, Self.method("Write"), metadata(token), closing: .finishing(writes),
        read: { received in
          let response = try received.message
          let token = [UInt8](response.streamToken)
          let wasGreeted = isGreeted.withLock { known in
            defer { known = true }
            return known
          }
          guard wasGreeted else { return .greeted(token: token) }
          let result = try CommitResult(
            commitTime: response.commitTime, response.writeResults)
          return .answered(result, token: token)
        },
        { event in
          switch event {
          case .opened: receive(.opened)
          case .said(let said): receive(said)
          case .closed(let error): receive(.closed(error))
          }
        })
      call.begin()
      return GRPCWriteStream(call, database, resumes: options.resumesWrites)
    }

    // MARK: Tokens of the app

    func prepare() async { _ = await line.appTokens?.current() }

    func appTokenDidChange() { line.appTokens?.changed() }

    // MARK: Requests

    func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
      guard !paths.isEmpty else { return [] }
      let request = ProtoBatchGetDocumentsRequest.with {
        $0.database = "\(database)"
        $0.documents = paths.map { "\(DocumentName($0, in: database))" }
      }
      let answers: [ProtoBatchGetDocumentsResponse] = try await ask(
        "BatchGetDocuments", request, token)
      var found: [DocumentPath: Document] = [:]
      do throws(ProtoError) {
        for answer in answers {
          guard let document = try Document(answer, in: database) else { continue }
          found[document.path] = document
        }
      } catch {
        throw StatusError(error, at: "\(line.address)")
      }
      var documents: [Document] = []
      for path in paths {
        guard let document = found[path] else {
          throw StatusError(.internal, "The server did not say what became of \(path). Try again.")
        }
        documents.append(document)
      }
      return documents
    }

    func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
      let request = ProtoCommitRequest.with {
        $0.database = "\(database)"
        $0.writes = writes.map { ProtoWrite($0, in: database) }
      }
      let answers: [ProtoCommitResponse] = try await ask("Commit", request, token)
      guard let answer = answers.first else { throw Self.unanswered }
      do throws(ProtoError) {
        return try CommitResult(commitTime: answer.commitTime, answer.writeResults)
      } catch {
        throw StatusError(error, at: "\(line.address)")
      }
    }

    func aggregate(
      _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
    ) async throws(StatusError) -> [DocumentValue] {
      guard let asked = ProtoStructuredAggregationQuery(query, aggregates) else {
        throw StatusError(
          .invalidArgument, "One document has no aggregates. Ask for those of a collection.")
      }
      let request = ProtoRunAggregationQueryRequest.with {
        $0.parent = query.target.parent(in: database)
        $0.structuredAggregationQuery = asked
      }
      await prepare()
      let answers: [ProtoRunAggregationQueryResponse] = try await ask(
        "RunAggregationQuery", request, token)
      guard let fields = answers.last(where: \.hasResult)?.result.aggregateFields else {
        throw Self.unanswered
      }
      do throws(ProtoError) {
        let values = try MapValue(fields)
        return try aggregates.indices.map { (place) throws(ProtoError) in
          guard let value = values[ProtoStructuredAggregationQuery.alias(of: place)] else {
            throw ProtoError("An aggregate is missing.")
          }
          return value
        }
      } catch {
        throw StatusError(error, at: "\(line.address)")
      }
    }

    /// Sends a request with the token of the app that is there, and gathers what the server answers.
    ///
    /// - Throws: also when that takes too long, or is more than the options allow. It waits for nobody then: what gRPC still
    ///   does for the call is of no account.
    func ask<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
      _ name: String, _ message: Request, _ token: String?
    ) async throws(StatusError) -> [Response] {
      let appToken = line.appTokens?.ready()
      let channel = try line.channel()
      let opening = CallOpening(on: channel)
      var headers = metadata(token)
      headers.add(appToken: appToken)
      let request = StreamingClientRequest<Request>(metadata: headers) { writer in
        opening.opened()
        try await writer.write(message)
      }
      var callOptions = CallOptions.defaults
      callOptions.timeout = options.requestTimeout
      let outcome = FirstOutcome<[Response]>()
      let call = Task { [limit = options.answerLimit, callOptions] in
        defer { opening.ended() }
        do {
          let answers = try await channel.client.bidirectionalStreaming(
            request: request, descriptor: Self.method(name),
            serializer: ProtobufSerializer<Request>(),
            deserializer: ReceivedMessageDeserializer<Response>(), options: callOptions
          ) { response in
            // A refusal may come before the message is sent.
            opening.opened()
            var answers: [Response] = []
            var size = 0
            for try await answer in response.messages {
              size += answer.size
              guard size <= limit else { throw Self.excessive(name, limit) }
              answers.append(try answer.message)
            }
            return answers
          }
          outcome.settle(.success(answers))
        } catch { outcome.settle(.failure(error)) }
      }
      let ends = [
        Task { [line] in
          try await line.sleep(line.openTimeout)
          if !opening.isOver { outcome.settle(.failure(line.unopened)) }
        },
        Task { [line, limit = options.requestTimeout] in
          try await line.sleep(limit)
          outcome.settle(.failure(Self.late))
        },
      ]
      defer {
        for end in ends { end.cancel() }
        call.cancel()
      }
      let result = await withTaskCancellationHandler {
        await outcome.value
      } onCancel: {
        outcome.settle(.failure(CancellationError()))
      }
      do {
        let answers = try result.get()
        line.appTokens?.accepted(appToken)
        return answers
      } catch {
        let state = await FailedCallState(opening)
        let failure = StatusError(error, at: "\(line.address)", state)
        if failure.code == .unauthenticated { line.appTokens?.refused(appToken) }
        if state.isBroken(failure) { line.failed(channel) }
        throw failure
      }
    }

    private static let late = StatusError(
      .deadlineExceeded,
      "The server did not answer in time. Try again, or allow more (GRPCOptions.requestTimeout).")

    private static func excessive(_ name: String, _ limit: Int) -> StatusError {
      StatusError(
        .outOfRange,
        "The server answered \(name) with more than \(limit) bytes. Ask for less at once, or raise the limit "
          + "(GRPCOptions.answerLimit).")
    }

    private static var unanswered: StatusError {
      StatusError(.internal, "The server ended the request without an answer. Try again.")
    }

    // MARK: Headers

    private static func method(_ name: String) -> MethodDescriptor {
      MethodDescriptor(fullyQualifiedService: "google.firestore.v1.Firestore", method: name)
    }

    private func metadata(_ token: String?) -> Metadata {
      var metadata = Metadata()
      for (name, value) in options.headers { metadata.addString(value, forKey: name) }
      metadata.addString("\(database)", forKey: "google-cloud-resource-prefix")
      metadata.addString(
        "project_id=\(Self.escaped(database.project))&database_id=\(Self.escaped(database.database))",
        forKey: "x-goog-request-params")
      metadata.addString("gl-swift conifer", forKey: "x-goog-api-client")
      if let token { metadata.addString("Bearer \(token)", forKey: "authorization") }
      return metadata
    }

    private static func escaped(_ text: String) -> String {
      var escaped = ""
      for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
          UInt8(ascii: "."), UInt8(ascii: "~"):
          escaped.unicodeScalars.append(UnicodeScalar(byte))
        default:
          escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }
      }
      return escaped
    }
  }

  extension Metadata {
    /// Shows the app's own token, if there is one.
    mutating func add(appToken: String?) {
      if let appToken { addString(appToken, forKey: "x-firebase-appcheck") }
    }
  }

  extension Document {
    /// A document as a server answers a get; nil for an answer that names none.
    fileprivate init?(
      _ answer: ProtoBatchGetDocumentsResponse, in database: DatabaseID
    ) throws(ProtoError) {
      let time = answer.hasReadTime ? try Timestamp(answer.readTime) : .zero
      switch answer.result {
      case .found(let document): try self.init(document, in: database, readTime: time)
      case .missing(let name):
        let path = try DocumentPath(name: name, in: database)
        guard time > .zero else {
          throw ProtoError("It is not told when the document \(name) was missing.")
        }
        self.init(path, .missing, version: time, readTime: time)
      case nil: return nil
      }
    }
  }
#endif
