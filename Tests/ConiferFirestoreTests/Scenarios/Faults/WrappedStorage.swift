import ConiferKeyValue
import ConiferStorage

extension StorageConfiguration {
  /// The same storage, each backend of which is used through what a test puts before it.
  func wrapped(
    _ wrap:
      @escaping @Sendable (any DocumentBackend & EvictingBackend) -> any DocumentBackend
  ) -> StorageConfiguration {
    let base = self
    return StorageConfiguration(name: name, location: location, options: options) {
      (options) throws(StoreError) in
      let opened = try base.with(options).open()
      guard let backend = opened as? any DocumentBackend & EvictingBackend else {
        throw StoreError(.unsupported, "\(base.name) keeps no documents, or evicts none.")
      }
      return wrap(backend)
    }
  }

  /// The same storage, which refuses what a test says.
  func failing(_ faults: StorageFaults) -> StorageConfiguration {
    wrapped { FailingBackend($0, faults) }
  }
}
