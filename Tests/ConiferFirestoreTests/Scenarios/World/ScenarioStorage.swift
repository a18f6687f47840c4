import ConiferKeyValue
import ConiferStorage
import Synchronization

/// The storage of a case: a backend in a directory of its own, which may be opened again and can be had fail.
final class ScenarioStorage: Sendable {
  let faults = StorageFaults()
  private let backend: ScenarioBackend
  private let directory: String
  private let opened: Mutex<(any EvictingBackend)?> = Mutex(nil)

  init(_ backend: ScenarioBackend, at directory: String) {
    self.backend = backend
    self.directory = directory
  }

  /// Opens the backend anew each time.
  var configuration: StorageConfiguration {
    let storage = backend.storage(at: directory)
    return StorageConfiguration(
      name: storage.name, location: storage.location, options: storage.options
    ) { [self] (options) throws(StoreError) in
      let backend = try storage.with(options).open()
      guard let whole = backend as? any DocumentBackend & EvictingBackend else {
        throw StoreError(.unsupported, "\(storage.name) keeps no documents, or evicts none.")
      }
      let failing = FailingBackend(whole, faults)
      opened.withLock { $0 = failing }
      return failing
    }
  }

  /// What the cache takes, in bytes; 0 before the first opening.
  func cacheSize() throws -> Int {
    try opened.withLock { $0 }.map { try $0.space().cache } ?? 0
  }
}
