internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree
internal import Synchronization

/// The place where a check runs: a directory, and the backends that were opened in it.
final class BackendBench: Sendable {
  let factory: BackendFactory
  let directory: String
  private let opened = Mutex<[any StorageBackend]>([])

  init(_ factory: BackendFactory) throws {
    self.factory = factory
    directory = try System.makeTemporaryDirectory()
  }

  /// Opens the backend, under changed options if asked for.
  func open(_ change: (inout StorageOptions) -> Void = { _ in }) throws -> any StorageBackend {
    var options = factory.options
    // The checks that are about eviction set a budget; the others must find what they wrote.
    options.budget = nil
    change(&options)
    let backend = try factory.open(directory, options)
    opened.withLock { $0.append(backend) }
    return backend
  }

  /// Opens the backend with a model beside it, and makes two trees in both.
  func twin(_ change: (inout StorageOptions) -> Void = { _ in }) async throws -> Twin {
    try await Twin(self, try open(change))
  }

  /// Requires that a size is what it was before; of an engine with threads of its own, which may write and
  /// remove files at any time, only that it holds as much live data.
  func requireSize(_ found: StoreSize, _ expected: StoreSize, _ what: String) throws {
    try requireEqual(found.live, expected.live, "the live bytes of \(what)")
    if !factory.worksInBackground { try requireEqual(found, expected, what) }
  }

  /// Closes what is open and removes the directory.
  func finish() async {
    for backend in opened.withLock({ $0 }) { try? await backend.close() }
    System.removeTree(directory)
  }
}
