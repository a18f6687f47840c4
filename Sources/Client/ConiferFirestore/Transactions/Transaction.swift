import ConiferDocument
import Dispatch
import Synchronization

/// A transaction's reads of documents from the server, and its writes, which are made only if these
/// documents have not changed meanwhile.
///
/// It is passed to the function of ``Firestore/runTransaction(_:completion:)`` and similar methods.
/// All reads come before the first write. An error of the transaction is reported at the latest
/// when it is committed, even if the function ignores it. A write after the function's end is lost,
/// which is logged.
public final class Transaction: Sendable {
  private let firestore: Firestore
  private let state = Mutex(TransactionState())
  private let user: TransactionUser

  init(_ firestore: Firestore, _ user: TransactionUser) {
    self.firestore = firestore
    self.user = user
  }

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
    // On Linux only an `NSError` matches `catch let error as NSError`, which ported code uses.
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
  /// - Throws: `invalidArgument` after a write, `aborted` when it changed since it was read before,
  ///   `failedPrecondition` after the transaction's end, what it failed with before, and what the server says.
  nonisolated(nonsending)
    public func getDocument(
      _ document: DocumentReference
    ) async throws(FirestoreError) -> DocumentSnapshot
  {
    let target = Result { () throws(FirestoreError) in
      try check(document)
      return try document.target.get()
    }
    let path = try state.withLock { state throws(FirestoreError) in try state.beginRead(target) }
    let found: [Document]
    do throws(FirestoreError) {
      found = try await firestore.ask { [user] (engine) throws(FirestoreError) in
        try await engine.lookup([path], user)
      }
    } catch {
      state.withLock { $0.readFailed(error) }
      throw error
    }
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
    do throws(FirestoreError) {
      try state.withLock { state throws(FirestoreError) in try state.add(made, isUpdate: isUpdate) }
    } catch {
      firestore.report(error)
    }
    return self
  }

  /// Ends the transaction, and commits the writes if nothing that was read has changed.
  nonisolated(nonsending)
    func commit() async throws(FirestoreError)
  {
    let mutations = try state.withLock { state throws(FirestoreError) in try state.end() }
    guard !mutations.isEmpty else { return }
    do throws(DocumentError) { try mutations.validateSize() } catch { throw FirestoreError(error) }
    try await firestore.ask { [user] (engine) throws(FirestoreError) in
      try await engine.commit(mutations, user)
    }
  }

  /// Ends the transaction without its writes, after the function threw an error.
  ///
  /// - Returns: whether the error is one of the transaction's reads.
  func endAfterError(_ error: any Error) -> Bool {
    state.withLock { state in
      _ = try? state.end()
      return (error as? FirestoreError).map(state.isReadError) ?? false
    }
  }

  private func check(_ document: DocumentReference) throws(FirestoreError) {
    guard document.firestore === firestore else {
      throw FirestoreError(
        .invalidArgument,
        "\(document.path) is in another database than the transaction. Run one for each.")
    }
  }
}
