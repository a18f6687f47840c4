public import ConiferKeyValue

/// A storage backend that also keeps documents, in trees with the key order `documents`.
///
/// Documents change by ``StorageEdit/documents(_:_:)``, and writes to them are queued as `MutationBatch.payload`. What the
/// waiting writes of a lane do to a document is kept as one overlay in the commit that queues, answers or drops a
/// write, so that a read costs the same however long the queue is.
public protocol DocumentBackend: StorageBackend {
  /// Reads one moment with its documents; the closure runs on the caller's thread and may be called again, as that of
  /// `read`.
  ///
  /// - Throws: what the closure throws, and `io`, `closed`, `suspended`.
  func readDocuments<R>(_ body: (any DocumentView) throws(StoreError) -> R) throws(StoreError) -> R
}

extension StorageBackend {
  /// This backend as one that keeps documents.
  ///
  /// - Throws: `unsupported` when it does not.
  public func keepingDocuments() throws(StoreError) -> any DocumentBackend {
    guard let backend = self as? any DocumentBackend else {
      throw StoreError(
        .unsupported, "The backend \(traits.name) keeps no documents: choose another backend.")
    }
    return backend
  }
}
