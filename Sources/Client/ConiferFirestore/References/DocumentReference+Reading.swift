import ConiferDocument
import ConiferDocumentSync

// Blocks run on the callback queue.
extension DocumentReference {
  /// Reads the document once: from the server, or from what is here when that cannot be reached.
  ///
  /// - Parameter completion: given the document, which may be missing, or why it cannot be known.
  public func getDocument(completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
    getDocument(source: .default, completion: completion)
  }

  /// Reads the document once.
  ///
  /// - Parameters:
  ///   - source: where from.
  ///   - completion: given the document, which may be missing, or why it cannot be known: `unavailable`
  ///     when the server had to be asked and cannot be reached, or the cache and it never saw the
  ///     document.
  public func getDocument(
    source: FirestoreSource, completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) {
    let user = UserCode<(DocumentSnapshot?, (any Error)?)>(completion)
    do throws(FirestoreError) {
      try firestore.engine().get(target.get(), source.model) { result in
        switch result {
        case .success(let got): user((DocumentSnapshot(self, got), nil))
        case .failure(let error): user((nil, error))
        }
      }
    } catch {
      firestore.deliver { user((nil, error)) }
    }
  }

  /// Reads the document once.
  ///
  /// - Parameter source: where from.
  /// - Returns: the document, which may be missing.
  /// - Throws: `unavailable` when the server had to be asked and cannot be reached, or the cache and it
  ///   never saw the document; `permissionDenied`; `cancelled`.
  nonisolated(nonsending)
    public func getDocument(
      source: FirestoreSource = .default
    ) async throws(FirestoreError) -> DocumentSnapshot
  {
    let path = try target.get()
    let got: GotDocument = try await firestore.wait { $0.get(path, source.model, $1) }
    return DocumentSnapshot(self, got)
  }

  /// Listens to the document: what is here at once, then each change.
  ///
  /// - Parameter listener: given the document, which may be missing; or once an error, which ends it.
  /// - Returns: what ends it.
  @discardableResult
  public func addSnapshotListener(
    _ listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// Listens to the document: what is here at once, then each change.
  ///
  /// - Parameters:
  ///   - includeMetadataChanges: whether snapshots come that differ in their metadata alone.
  ///   - listener: given the document, which may be missing; or once an error, which ends it.
  /// - Returns: what ends it.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool,
    listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(
      options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges),
      listener: listener)
  }

  /// Listens to the document.
  ///
  /// - Parameters:
  ///   - options: where from, and whether changes of metadata count.
  ///   - listener: given the document, which may be missing; or once an error, which ends it.
  /// - Returns: what ends it.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions,
    listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let user = UserCode<(DocumentSnapshot?, (any Error)?)>(listener)
    return firestore.listen(query(), options) { [target] result in
      switch (result, target) {
      case (.success(let event), .success(let path)):
        user((DocumentSnapshot(self, path, event), nil))
      case (.failure(let error), _), (_, .failure(let error)): user((nil, error))
      }
    }
  }

  /// The document as a query that gives it alone.
  func query() -> Result<DocumentQuery, FirestoreError> {
    target.map { DocumentQuery(.document($0), in: firestore.database) }
  }
}
