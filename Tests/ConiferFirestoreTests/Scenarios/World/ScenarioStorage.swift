import ConiferKeyValue
import ConiferStorage
import Synchronization

/// The storage of a case: a backend in a directory of its own, which may be opened again and can be had fail.
final class ScenarioStorage: Sendable {
  let faults = StorageFaults()
  private let backend: ScenarioBackend
  private let options: ScenarioOptions
  private let directory: String
  private let opened: Mutex<(any EvictingBackend)?> = Mutex(nil)

  init(_ backend: ScenarioBackend, _ options: ScenarioOptions, at directory: String) {
    self.backend = backend
    self.options = options
    self.directory = directory
  }

  /// Opens the backend anew each time.
  var configuration: StorageConfiguration {
    backend.storage(at: directory, options).wrapped { [self] backend in
      let failing = FailingBackend(backend, faults)
      opened.withLock { $0 = failing }
      return failing
    }
  }

  /// What the cache takes, in bytes; 0 before the first opening.
  func cacheSize() throws -> Int {
    try opened.withLock { $0 }.map { try $0.space().cache } ?? 0
  }
}
