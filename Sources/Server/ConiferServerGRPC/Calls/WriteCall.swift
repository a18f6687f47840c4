#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import SwiftProtobuf

  /// A stream of writes of one client.
  ///
  /// So many batches are read, and so many bytes of them, that have no answer which the connection has taken: a client that
  /// does not read its answers is read from no more, and one that sends faster than batches are made waits.
  struct WriteCall {
    private let writes: RemoteWriteStream
    private let credit = StreamCredit(
      RequestLimits.unanswered, bytes: RequestLimits.unansweredBytes)

    init(_ server: DocumentServer, token: String?) {
      writes = RemoteWriteStream(writingTo: server, token: token)
    }

    /// Serves it until it has ended.
    ///
    /// - Throws: why it ended; nothing when the client has ended it.
    func run(
      _ requests: RPCAsyncSequence<ProtoWriteRequest, any Error>,
      _ answer: RPCWriter<ProtoWriteResponse>, _ calls: CallTable
    ) async throws {
      let (writes, credit) = (writes, credit)
      let number = try calls.begin { writes.end($0) }
      defer {
        writes.end(nil)
        calls.end(number)
      }
      try await withRPCCancellationHandler {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { await read(requests) }
          defer { group.cancelAll() }
          for await event in writes.events {
            switch event {
            case .opened: break
            case .greeted(let token):
              try await answer.write(
                .with {
                  $0.streamID = "\(number)"
                  $0.streamToken = token.data
                })
            case .answered(let result, let token):
              try await answer.write(
                .with {
                  $0.streamToken = token.data
                  $0.writeResults = result.results.map { ProtoWriteResult($0) }
                  $0.commitTime = Google_Protobuf_Timestamp(result.commitTime)
                })
              credit.grant()
            case .closed(let error):
              if let error { throw error }
              return
            }
          }
        }
      } onCancelRPC: {
        writes.end(nil)
      }
    }

    /// Takes in what the client sends.
    private func read(_ requests: RPCAsyncSequence<ProtoWriteRequest, any Error>) async {
      var known: DatabaseID?
      do {
        for try await request in requests {
          if let known, !request.database.isEmpty,
            try ResourceName(database: request.database).database != known
          {
            throw StatusError(
              .invalidArgument, "The stream is of \(known). Open another for \(request.database).")
          }
          guard let database = known else {
            let database = try ResourceName(database: request.database).database
            guard request.writes.isEmpty else {
              throw StatusError(
                .invalidArgument, "The first request has no writes. Send them after its answer.")
            }
            known = database
            try writes.open(database)
            writes.greet(token: [UInt8](request.streamToken))
            continue
          }
          let batch = try FirestoreService.writes(
            request.writes, in: database, atMost: RequestLimits.writes)
          await credit.take(batch.reduce(0) { $0 + $1.requestSize })
          if Task.isCancelled { return }
          writes.send(batch, token: [UInt8](request.streamToken))
        }
        writes.finish()
      } catch {
        // Batches before it may still wait, and clients know answers by their order.
        writes.refuse(StatusError(reading: error))
      }
    }
  }
#endif
