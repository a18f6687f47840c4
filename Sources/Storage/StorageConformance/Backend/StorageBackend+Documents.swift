internal import ConiferKeyValue
internal import ConiferStorage

extension StorageBackend {
  /// Reads one moment, with its documents where the backend keeps some.
  func readAll<R>(
    _ body: (any StorageView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    guard let documents = self as? any DocumentBackend else { return try read(body) }
    return try documents.readDocuments { (view) throws(StoreError) in try body(view) }
  }
}
