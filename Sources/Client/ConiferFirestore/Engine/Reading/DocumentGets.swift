import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire

/// One-time reads of documents, of queries, and of their aggregates.
struct DocumentGets {
  let setup: FirestoreConfiguration
  let store: DocumentStore
  let listening: Listening
  let user: SignedInUser
  let network: NetworkUse
  let outbox: Outbox
  let post: @Sendable (DocumentStep) -> Void

  // MARK: Documents and queries

  /// Reads a document once.
  func get(
    _ path: DocumentPath, _ source: GetSource,
    _ completion: @escaping @Sendable (Result<GotDocument, FirestoreError>) -> Void
  ) {
    guard store.lane != nil else { return tell(completion, .failure(store.error)) }
    guard source == .cache else {
      return listenOnce(DocumentQuery(.document(path), in: store.database)) { result in
        tell(
          completion,
          result.flatMap { event in
            Result { () throws(StatusError) in
              GotDocument(
                document: try source.document(path, in: event.snapshot),
                isFromCache: event.snapshot.isFromCache, confirmed: event.knowledge.readTime)
            }.mapError { FirestoreError($0) }
          })
      }
    }
    do throws(StoreError) {
      let document = try store.read { (view, lane) throws(StoreError) in
        try view.document(lane, path)
      }
      tell(
        completion,
        Result { () throws(StatusError) in
          GotDocument(document: try GetSource.cached(document), isFromCache: true)
        }.mapError { FirestoreError($0) })
    } catch {
      tell(completion, .failure(FirestoreError(error, "\(path) could not be read")))
    }
  }

  /// Reads what a query gives once.
  func get(
    _ query: DocumentQuery, _ source: GetSource,
    _ completion: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void
  ) {
    guard store.lane != nil else { return tell(completion, .failure(store.error)) }
    guard source == .cache else {
      return listenOnce(query) { result in
        tell(
          completion,
          result.flatMap { event in
            Result { () throws(StatusError) in
              ListenEvent(
                snapshot: try source.documents(in: event.snapshot), knowledge: event.knowledge)
            }.mapError { FirestoreError($0) }
          })
      }
    }
    do throws(StoreError) {
      let (documents, knowledge) = try cached(query)
      var view = QueryView(query)
      guard let snapshot = view.apply(view.changes(documents)).snapshot else { return }
      tell(completion, .success(ListenEvent(snapshot: snapshot, knowledge: knowledge)))
    } catch {
      tell(completion, .failure(FirestoreError(error, "The query could not be read")))
    }
  }

  /// Listens until the first event.
  private func listenOnce(
    _ query: DocumentQuery, _ completion: @escaping (Result<ListenEvent, FirestoreError>) -> Void
  ) {
    listening.listenOnce(query, GetSource.listenOptions, completion)
  }

  /// What the cache has of a query, and how well it knows it.
  private func cached(
    _ query: DocumentQuery
  ) throws(StoreError) -> ([Document], QueryKnowledge) {
    let found = try listening.targets.find(query.target)
    let answer = try store.read { (view, lane) throws(StoreError) in
      try view.query(lane, query, tracked: found?.id)
    }
    listening.considerIndex(answer)
    return (answer.documents, listening.knowledge(of: query, stored: found?.record))
  }

  private func tell<R: Sendable>(
    _ completion: @escaping @Sendable (Result<R, FirestoreError>) -> Void,
    _ result: Result<R, FirestoreError>
  ) { outbox.addCall { completion(result) } }

  // MARK: Aggregates

  /// Computes aggregates of the documents that a query finds.
  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], _ source: GetSource,
    _ completion: @escaping @Sendable (Result<AggregateAnswer, FirestoreError>) -> Void
  ) {
    guard store.lane != nil else { return tell(completion, .failure(store.error)) }
    switch source {
    case .cache: tell(completion, aggregateCached(query, aggregates))
    case .default where !network.isUsed: tell(completion, aggregateCached(query, aggregates))
    case .server where !network.isUsed:
      tell(completion, .failure(FirestoreError(Self.offline)))
    case .default, .server:
      aggregateOnServer(query, aggregates) { [post] result in
        post(
          .run(.none) { loop in
            if source == .default, case .failure(let error) = result, error.code == .unavailable {
              return loop.gets.tell(completion, loop.gets.aggregateCached(query, aggregates))
            }
            loop.gets.tell(completion, result)
          })
      }
    }
  }

  static let offline = StatusError(
    .unavailable,
    "The server cannot be asked: the client is offline. Ask the cache, or try again when it is online."
  )

  private func aggregateOnServer(
    _ query: DocumentQuery, _ aggregates: [Aggregate],
    _ completion: @escaping @Sendable (Result<AggregateAnswer, FirestoreError>) -> Void
  ) {
    guard let service = setup.effectiveTransport?.service else {
      return completion(.failure(FirestoreError(Self.offline)))
    }
    user.withRequestToken { [post] answer in
      switch answer {
      case .failure(let error): completion(.failure(FirestoreError(error)))
      case .success(let token):
        Task.detached {
          do throws(StatusError) {
            let values = try await service.aggregate(query, aggregates, token: token)
            completion(.success(AggregateAnswer(values: values, cached: nil)))
          } catch {
            if error.code == .unauthenticated { post(.run(.none) { $0.user.invalidate(token) }) }
            completion(.failure(FirestoreError(error)))
          }
        }
      }
    }
  }

  private func aggregateCached(
    _ query: DocumentQuery, _ aggregates: [Aggregate]
  ) -> Result<AggregateAnswer, FirestoreError> {
    do throws(StoreError) {
      let (documents, knowledge) = try cached(query)
      do throws(DocumentError) {
        return .success(
          AggregateAnswer(
            values: try Aggregate.evaluate(aggregates, over: documents), cached: knowledge))
      } catch {
        return .failure(FirestoreError(error))
      }
    } catch {
      return .failure(FirestoreError(error, "The query could not be read"))
    }
  }
}
