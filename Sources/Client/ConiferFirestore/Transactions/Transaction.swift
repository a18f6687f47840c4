import ConiferDocument
import Dispatch
import Synchronization

/// Reads of the server's documents, and writes that are made only when these have not changed meanwhile.
///
/// It is given to the function of ``Firestore/runTransaction(_:completion:)`` and its kin. All reads come
/// before the first write. What makes no sense in a write is told when the transaction is committed.
public final class Transaction: Sendable {
  private let firestore: Firestore
  private let state = Mutex(TransactionState())
  private let user = TransactionUser()

  init(_ firestore: Firestore) { self.firestore = firestore }

  /// Reads a document from the server; blocks the calling thread until that has answered.
  ///
  /// - Parameter document: the document.
  /// - Returns: the document, which may be missing.
  /// - Throws: an `NSError` of ``FirestoreErrorDomain``, as on Apple, where blocks catch such ones:
  ///   `invalidArgument` after a write, `aborted` when it changed since it was read before, and what the
  ///   server says.
  @available(*, noasync, message: "Await it: try await transaction.getDocument(document).")
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    let answer = Promise<Result<DocumentSnapshot, FirestoreError>>()
    let isAnswered = DispatchSemaphore(value: 0)
    Task.detached { [self] in
      do throws(FirestoreError) {
        answer.resolve(.success(.success(try await getDocument(document))))
      } catch {
        answer.resolve(.success(.failure(error)))
      }
      isAnswered.signal()
    }
    isAnswered.wait()
    let result = answer.result ?? .success(.failure(Self.unanswered))
    switch result {
    case .success(.success(let snapshot)): return snapshot
    // On Linux no other error matches the `catch let error as NSError` of ported code.
    case .success(.failure(let error)): throw error.bridged
    case .failure(let error): throw FirestoreError(error).bridged
    }
  }

  private static let unanswered = FirestoreError(
    .internal, "A transaction's read ended without an answer. Report it.")

  /// Reads a document from the server.
  ///
  /// - Parameter document: the document.
  /// - Returns: the document, which may be missing.
  /// - Throws: `invalidArgument` after a write, `aborted` when it changed since it was read before, and
  ///   what the server says.
  nonisolated(nonsending)
    public func getDocument(
      _ document: DocumentReference
    ) async throws(FirestoreError) -> DocumentSnapshot
  {
    try check(document)
    let path = try document.target.get()
    try state.withLock { state throws(FirestoreError) in try state.checkReading() }
    let found = try await firestore.engine().lookup([path], user)
    let read = found.first { $0.path == path } ?? Document(path, .missing)
    try state.withLock { state throws(FirestoreError) in try state.read(read) }
    return DocumentSnapshot(document, GotDocument(document: read, isFromCache: false))
  }

  /// Replaces a document.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference
  ) -> Transaction { add(.set(data), document) }

  /// Replaces a document, or some of its fields.
  ///
  /// - Parameters:
  ///   - data: the fields.
  ///   - document: the document.
  ///   - merge: whether fields stay that the data has not.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> Transaction { add(.set(data, merge: merge), document) }

  /// Replaces some fields of a document, which may be missing.
  ///
  /// - Parameters:
  ///   - data: the fields; what is not named is left out.
  ///   - document: the document.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the data.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> Transaction { add(.set(data, mergeFields: mergeFields), document) }

  /// Replaces some fields of a document that exists.
  ///
  /// - Parameters:
  ///   - fields: values by `String`, such as `address.city`, or ``FieldPath``.
  ///   - document: the document.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> Transaction { add(.update(fields), document) }

  /// Deletes a document; collections below it stay.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> Transaction {
    add(.delete, document)
  }

  func add(_ write: DocumentWrite, _ document: DocumentReference) -> Transaction {
    let made = Result { () throws(FirestoreError) in
      try check(document)
      return try write.mutation(for: document)
    }
    let isUpdate = if case .update = write.content { true } else { false }
    state.withLock { $0.add(made, isUpdate: isUpdate) }
    return self
  }

  /// Commits the writes, on the condition that what was read is as it was.
  nonisolated(nonsending)
    func commit() async throws(FirestoreError)
  {
    let mutations = try state.withLock { state throws(FirestoreError) in try state.mutations() }
    if !mutations.isEmpty { try await firestore.engine().commit(mutations, user) }
  }

  private func check(_ document: DocumentReference) throws(FirestoreError) {
    guard document.firestore === firestore else {
      throw FirestoreError(
        .invalidArgument,
        "\(document.path) is in another database than the transaction. Run one for each.")
    }
  }
}
