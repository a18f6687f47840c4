import ConiferDocument

// References to places in the database. An invalid path makes a reference whose use reports the
// error. The first reference freezes the settings.
extension Firestore {
  /// A collection.
  ///
  /// - Parameter collectionPath: an odd number of ids with slashes between them, such as `rooms` or
  ///   `rooms/eros/messages`.
  public func collection(_ collectionPath: String) -> CollectionReference {
    begin()
    return CollectionReference(self, collectionPath)
  }

  /// A document.
  ///
  /// - Parameter documentPath: an even number of ids with slashes between them, such as `rooms/eros`.
  public func document(_ documentPath: String) -> DocumentReference {
    begin()
    return DocumentReference(self, documentPath)
  }

  /// The documents of all collections with an id, wherever they are.
  ///
  /// - Parameter collectionID: the id, without slashes.
  public func collectionGroup(_ collectionID: String) -> Query {
    begin()
    guard !collectionID.isEmpty, !collectionID.utf8.contains(UInt8(ascii: "/")) else {
      return Query(
        self,
        .failure(
          FirestoreError(
            .invalidArgument,
            "'\(collectionID)' is no collection's id. Name the last segment of the collections' "
              + "paths, without slashes.")))
    }
    return Query(self, .success(DocumentQuery(.group(collectionID), in: database)))
  }

  /// A batch of writes, which the server makes whole or not at all.
  public func batch() -> WriteBatch {
    begin()
    return WriteBatch(self)
  }
}
