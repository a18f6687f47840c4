import ConiferDocument
import Synchronization

/// A batch of writes that the server applies whole or not at all.
///
/// It may be used from any thread. What is invalid is told when it is committed; once it is, it takes
/// no more writes.
public final class WriteBatch: Sendable {
  private enum State: Sendable {
    case open([Mutation])
    /// Why it cannot be committed.
    case faulty(FirestoreError)
    case committed
  }

  private let firestore: Firestore
  private let state = Mutex(State.open([]))

  init(_ firestore: Firestore) { self.firestore = firestore }

  /// Replaces a document.
  ///
  /// - Parameters:
  ///   - data: its fields.
  ///   - document: the document.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> WriteBatch
  {
    add(.set(data), document)
  }

  /// Replaces a document, or some of its fields.
  ///
  /// - Parameters:
  ///   - data: the fields.
  ///   - document: the document.
  ///   - merge: whether fields stay that the data has not.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> WriteBatch { add(.set(data, merge: merge), document) }

  /// Replaces some fields of a document, which may be missing.
  ///
  /// - Parameters:
  ///   - data: the fields; what is not named is left out.
  ///   - document: the document.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the data.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> WriteBatch { add(.set(data, mergeFields: mergeFields), document) }

  /// Replaces some fields of a document; when it does not exist, the server refuses the batch.
  ///
  /// - Parameters:
  ///   - fields: values by `String`, such as `address.city`, or ``FieldPath``.
  ///   - document: the document.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> WriteBatch { add(.update(fields), document) }

  /// Deletes a document; collections below it stay.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> WriteBatch { add(.delete, document) }

  func add(_ write: DocumentWrite, _ document: DocumentReference) -> WriteBatch {
    let made = Result { () throws(FirestoreError) in
      guard document.firestore === firestore else {
        throw FirestoreError(
          .invalidArgument,
          "\(document.path) is in another database than the batch. Make a batch for each.")
      }
      return try write.mutation(for: document)
    }
    let isLate = state.withLock { state in
      if case .committed = state { return true }
      guard case .open(var mutations) = state else { return false }
      switch made {
      case .success(let mutation):
        // Nothing else holds the array while it grows; otherwise each write would copy it.
        state = .committed
        mutations.append(mutation)
        state = .open(mutations)
      case .failure(let error): state = .faulty(error)
      }
      return false
    }
    if isLate { firestore.report(Self.committedError) }
    return self
  }

  private static let committedError = FirestoreError(
    .failedPrecondition, "The batch was committed already. Make another one with batch().")

  /// What is committed; a second time is an error, and so is more than one request may have.
  private func take() throws(FirestoreError) -> [Mutation] {
    let taken = state.withLock { state -> Result<[Mutation], FirestoreError> in
      defer { state = .committed }
      switch state {
      case .open(let mutations):
        do throws(DocumentError) { try mutations.validateSize() } catch {
          return .failure(FirestoreError(error))
        }
        return .success(mutations)
      case .faulty(let error): return .failure(error)
      case .committed: return .failure(Self.committedError)
      }
    }
    return try taken.get()
  }
}

extension WriteBatch {
  /// Queues the writes and returns at once, in async code too.
  ///
  /// - Returns: what follows the batch; it may be ignored.
  @discardableResult
  public func enqueue() -> WriteReceipt {
    firestore.write(nil) { () throws(FirestoreError) in try take() }
  }

  /// Queues the writes.
  ///
  /// - Returns: what follows the batch; it may be ignored.
  @discardableResult
  public func commit() -> WriteReceipt { enqueue() }

  /// Queues the writes.
  ///
  /// - Parameter completion: given the server's error, or nil; on the callback queue.
  /// - Returns: what follows the batch; it may be ignored.
  @discardableResult
  public func commit(completion: (((any Error)?) -> Void)?) -> WriteReceipt {
    firestore.write(completion) { () throws(FirestoreError) in try take() }
  }

  /// Queues the writes, and waits until the server has made them.
  ///
  /// - Throws: why they are invalid, were not queued, or were refused; `cancelled`.
  nonisolated(nonsending)
    public func commit() async throws(FirestoreError)
  { try await enqueue().applied() }
}
