internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree
internal import Synchronization

/// A directory in which a check runs, and the backends that were opened in it.
final class BackendFixture: Sendable {
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
  func pair(_ change: (inout StorageOptions) -> Void = { _ in }) async throws -> ModelPair {
    try await ModelPair(self, try open(change))
  }

  /// Requires that a size is what it was before. An engine with threads of its own may write and
  /// remove files at any time, so there only the live bytes must be equal.
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
