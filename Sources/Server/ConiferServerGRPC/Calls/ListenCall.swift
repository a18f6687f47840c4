#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore

  /// A stream of listens of one client.
  ///
  /// Nothing is queued for a client that does not read: the next moment is made when the connection has taken the last one.
  struct ListenCall {
    private let watch: RemoteWatchStream

    init(_ server: DocumentServer, token: String?) {
      watch = RemoteWatchStream(listeningTo: server, token: token)
    }

    /// Serves it until it has ended.
    ///
    /// - Throws: why it ended; nothing when the client has ended it.
    func run(
      _ requests: RPCAsyncSequence<ProtoListenRequest, any Error>,
      _ answer: RPCWriter<ProtoListenResponse>, _ calls: CallTable
    ) async throws {
      let watch = watch
      let number = try calls.begin { watch.end($0) }
      defer {
        watch.end(nil)
        calls.end(number)
      }
      let database = SetOnce<DatabaseID>()
      try await withRPCCancellationHandler {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { await read(requests, database) }
          defer { group.cancelAll() }
          for await events in watch.events {
            for event in events {
              switch event {
              case .opened: break
              case .said(let change, let version):
                guard let database = database.value else { break }
                try await answer.write(ProtoListenResponse(change, version: version, in: database))
              case .closed(let error):
                if let error { throw error }
                return
              }
            }
            if case .said? = events.last { watch.taken() }
          }
        }
      } onCancelRPC: {
        watch.end(nil)
      }
    }

    /// Takes in what the client asks for.
    private func read(
      _ requests: RPCAsyncSequence<ProtoListenRequest, any Error>, _ known: SetOnce<DatabaseID>
    ) async {
      var numbers = TargetNumbers()
      do {
        for try await request in requests {
          let database = try ResourceName(database: request.database).database
          if known.value == nil {
            known.set(database)
            try watch.open(database)
          }
          guard database == known.value else {
            throw StatusError(
              .invalidArgument, "The stream is of another database than \(database). Open another.")
          }
          switch request.targetChange {
          case .addTarget(let target):
            let id = try numbers.number(for: target.targetID)
            do throws(StatusError) {
              try numbers.check(target.targetID)
              watch.add(try WatchTarget(target, id, in: database))
            } catch { watch.refuse(id, error) }
          case .removeTarget(let id): watch.remove(id)
          case nil:
            throw StatusError(.invalidArgument, "A request adds or removes a target.")
          }
        }
        watch.finish()
      } catch { watch.end(StatusError(reading: error)) }
    }
  }
#endif
