import ConiferDocument
import ConiferDocumentSync

// Blocks run on the callback queue.
extension Query {
  /// Reads the documents once: from the server, or from what is here when that cannot be reached.
  ///
  /// - Parameter completion: given the documents, or why they cannot be known.
  public final func getDocuments(completion: @escaping (QuerySnapshot?, (any Error)?) -> Void) {
    getDocuments(source: .default, completion: completion)
  }

  /// Reads the documents once.
  ///
  /// - Parameters:
  ///   - source: where from.
  ///   - completion: given the documents, which are empty where the cache has none; or an error, such as
  ///     `unavailable` when the server had to be asked and cannot be reached.
  public final func getDocuments(
    source: FirestoreSource, completion: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) {
    let user = UserCode<(QuerySnapshot?, (any Error)?)>(completion)
    do throws(FirestoreError) {
      try firestore.engine().get(checked(), source.model) { [self] result in
        switch result {
        case .success(let event): user((QuerySnapshot(self, event), nil))
        case .failure(let error): user((nil, error))
        }
      }
    } catch {
      firestore.deliver { user((nil, error)) }
    }
  }

  /// Reads the documents once.
  ///
  /// - Parameter source: where from.
  /// - Returns: the documents, which are empty where the cache has none.
  /// - Throws: `unavailable` when the server had to be asked and cannot be reached; `invalidArgument`
  ///   for a query that is invalid; `permissionDenied`; `cancelled`.
  nonisolated(nonsending)
    public final func getDocuments(
      source: FirestoreSource = .default
    ) async throws(FirestoreError) -> QuerySnapshot
  {
    let query = try checked()
    let event: ListenEvent = try await firestore.wait { $0.get(query, source.model, $1) }
    return QuerySnapshot(self, event)
  }

  /// Listens to the documents: what is here at once, then each change.
  ///
  /// - Parameter listener: given all documents and what changed; or once an error, which ends it.
  /// - Returns: what ends it.
  @discardableResult
  public final func addSnapshotListener(
    _ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// Listens to the documents: what is here at once, then each change.
  ///
  /// - Parameters:
  ///   - includeMetadataChanges: whether snapshots come that differ in their metadata alone.
  ///   - listener: given all documents and what changed; or once an error, which ends it.
  /// - Returns: what ends it.
  @discardableResult
  public final func addSnapshotListener(
    includeMetadataChanges: Bool, listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(
      options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges),
      listener: listener)
  }

  /// Listens to the documents.
  ///
  /// - Parameters:
  ///   - options: where from, and whether changes of metadata count.
  ///   - listener: given all documents and what changed; or once an error, which ends it.
  /// - Returns: what ends it.
  @discardableResult
  public final func addSnapshotListener(
    options: SnapshotListenOptions, listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let user = UserCode<(QuerySnapshot?, (any Error)?)>(listener)
    let query = Result { () throws(FirestoreError) in try checked() }
    return firestore.listen(query, options) { [self] result in
      switch result {
      case .success(let event): user((QuerySnapshot(self, event), nil))
      case .failure(let error): user((nil, error))
      }
    }
  }
}

extension Firestore {
  /// Begins to listen, or tells once on the callback queue why that is invalid.
  func listen(
    _ query: Result<DocumentQuery, FirestoreError>, _ options: SnapshotListenOptions,
    _ told: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void
  ) -> ListenerHandle {
    let listening = ListenerHandle(self)
    let tell: @Sendable (Result<ListenEvent, FirestoreError>) -> Void = { [listening] result in
      // The app may have removed it on another thread since the engine's call.
      if listening.isOn { told(result) }
    }
    do throws(FirestoreError) {
      try engine().listen(listening.id, query.get(), options.model, tell)
    } catch {
      deliver { tell(.failure(error)) }
    }
    return listening
  }
}
