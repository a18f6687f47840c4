import ConiferDocument
import ConiferKeyValue
import ConiferStorage

// What the cache holds at one place. The Apple SDK has nothing like it.
extension Firestore {
  /// Forgets what the cache holds of a document, as if it had never been read: reading it offline fails, until the server
  /// has been asked again. Documents below it are others, and stay.
  ///
  /// Queries that it belonged to are incomplete until they are listened to again. Waiting and refused writes stay, and show
  /// over a document that is unknown. What the server says from then on is cached again.
  ///
  /// ``evict(to:dryRun:)`` passes over what is listened to or kept synced; this is refused while something has any of what
  /// is to be forgotten: a listener that shows it, or a query that is kept synced and matches it. Once the call returns, no
  /// end of the process brings it back, nor a loss of power as far as the storage survives that. The bytes on the medium are
  /// free for other data, and are not overwritten.
  ///
  /// - Parameter document: the document, of this database.
  /// - Throws: `failedPrecondition` while something has it, for a database without a server, whose storage is the only
  ///   copy, and after ``terminate()``; `invalidArgument` for an invalid reference; what the storage does; `cancelled`,
  ///   when the waiting task is: a part may be forgotten then.
  public func clear(at document: DocumentReference) async throws(FirestoreError) {
    try requireOwn(document.firestore)
    try await forget(.document(try document.target.get()))
  }

  /// Forgets what the cache holds of a collection's documents, as ``clear(at:)-(DocumentReference)`` does of one. Those of
  /// collections below it stay.
  ///
  /// Large collections are forgotten in parts, between which the database goes on. Whoever begins to listen meanwhile ends
  /// it: then, and when the process ends, a part is forgotten, and no query that had any of that counts as complete.
  ///
  /// - Parameter collection: the collection, of this database.
  /// - Throws: as for a document.
  public func clear(at collection: CollectionReference) async throws(FirestoreError) {
    try requireOwn(collection.firestore)
    try await forget(try collection.checked().source)
  }

  /// Forgets what the cache holds of the documents of all collections with an id, as ``clear(at:)-(CollectionReference)``
  /// does of one collection's.
  ///
  /// - Parameter collectionID: the id, without slashes.
  /// - Throws: as for a document.
  public func clear(collectionGroup collectionID: String) async throws(FirestoreError) {
    try await forget(try collectionGroup(collectionID).checked().source)
  }

  private func requireOwn(_ other: Firestore) throws(FirestoreError) {
    guard other !== self else { return }
    throw FirestoreError(
      .invalidArgument,
      "The reference is of another database than this one. Make it with the database whose cache is meant."
    )
  }

  private func forget(_ source: DocumentQuery.Source) async throws(FirestoreError) {
    guard configuration.localAuthority == nil else {
      throw FirestoreError(
        .failedPrecondition,
        "Nothing is forgotten: this database has no server, and its documents are the only copy. Remove them with "
          + "delete().")
    }
    var newest: CommitID?
    var position: ClearedDocuments.Position?
    repeat {
      let part = try await ask { [position] (engine) throws(FirestoreError) in
        try await engine.clear(source, after: position)
      }
      newest = part.commit ?? newest
      position = part.next
    } while position != nil
    guard let newest else { return }
    try await asking { (asked) throws(StoreError) in try await asked.backend.harden(newest) }
  }
}
