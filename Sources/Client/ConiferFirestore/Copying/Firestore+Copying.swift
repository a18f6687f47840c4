public import ConiferEngine

// The Apple SDK has nothing like it.
extension Firestore {
  /// Writes all documents of this database, which has no server, to the same places of another one, those of
  /// subcollections too; references to documents of this database lead to the other one there.
  ///
  /// They are written in batches of at most 500 documents and about 1 MiB, each whole or not at all, one after the other and
  /// beside the other database's queue, as transactions write. It returns when the server has made all; then everything is
  /// there. What was written here and waits is stored first; what changes here meanwhile may be copied or not.
  ///
  /// By default what is there stays: a document is only written where the server has none, and the server checks that in
  /// the write. What was written to the other database before, and waits, is sent first.
  ///
  /// After an error or the end of the process it may be called again: `replace` then overwrites what others have written
  /// since, and `keep` brings back what they have deleted. What has arrived before counts as kept.
  ///
  /// - Parameters:
  ///   - target: the database that is written to.
  ///   - existing: what is done where it has a document already.
  ///   - progress: called after each batch, on any thread.
  /// - Returns: how many documents were copied, and how many were not as `existing` says.
  /// - Throws: `failedPrecondition` when this database has a server, which alone knows all its documents, or was terminated;
  ///   `invalidArgument` when both are the same; what this store does; why the server refused a batch (`unavailable` without
  ///   a connection, after some attempts, and when a queue that is to be sent first gets no answer for ten seconds), or did
  ///   not let it read what is there; `cancelled`, also when another user signs in there. Batches before stay.
  @discardableResult
  public func copy(
    to target: Firestore, existing: ExistingData = .keep,
    progress: (@Sendable (CopyProgress) -> Void)? = nil
  ) async throws(FirestoreError) -> CopyProgress {
    guard configuration.localAuthority != nil else {
      throw FirestoreError(
        .failedPrecondition,
        "The database has a server, and only that knows all its documents. Copy there, or write what queries give."
      )
    }
    guard target != self else {
      throw FirestoreError(
        .invalidArgument, "A database is not copied to itself. Give another one.")
    }
    var copy = DocumentCopy(from: self, to: target, existing, tell: progress)
    return try await copy.run()
  }
}
