import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import Synchronization

/// The authority of a database without a server: a server in this process that serves this one database from a store
/// of its own. It is also the way to that server.
final class ServerAuthority<Server: LocalServer>: LocalAuthority {
  private struct Serving: Sendable {
    let backend: any StorageBackend
    var server: Server
  }

  private enum State: Sendable {
    case closed
    case serving(Serving)
    /// Stale: the server does not know what another process has changed in the store.
    case suspended(Serving, isStale: Bool)
  }

  private let storage: StorageConfiguration
  private let serve: @Sendable (any StorageBackend) async throws(StoreError) -> Server
  private let state = Mutex(State.closed)

  /// - Parameters:
  ///   - storage: where the data is, opened as an authority.
  ///   - serve: makes a server over the open store, with the data as it is then.
  init(
    _ storage: StorageConfiguration,
    serve: @escaping @Sendable (any StorageBackend) async throws(StoreError) -> Server
  ) {
    self.storage = storage
    self.serve = serve
  }

  /// The server; nil while the store is not open.
  var server: Server? {
    switch state.withLock({ $0 }) {
    case .serving(let serving), .suspended(let serving, _): serving.server
    case .closed: nil
    }
  }

  nonisolated(nonsending) func open() async throws(StoreError) {
    let backend = try storage.open()
    do throws(StoreError) {
      let serving = Serving(backend: backend, server: try await serve(backend))
      state.withLock { $0 = .serving(serving) }
    } catch {
      try? await backend.close()
      throw error
    }
  }

  nonisolated(nonsending) func suspend() async throws(StoreError) {
    switch state.withLock({ $0 }) {
    case .closed: return
    case .serving(let serving):
      await serving.server.settle()
      await serving.server.housekeeping?.suspend()
      // Also when the store fails: it may have let go of its files, and another call or `resume` finds out.
      state.withLock { $0 = .suspended(serving, isStale: false) }
      try await serving.backend.suspend()
    case .suspended(let serving, _): try await serving.backend.suspend()
    }
  }

  nonisolated(nonsending) func resume() async throws(StoreError) {
    guard case .suspended(var serving, let wasStale) = state.withLock({ $0 }) else { return }
    let isChanged = try await serving.backend.resumeNotingChanges()
    if isChanged || wasStale {
      // The server has in memory what the store had before.
      let before = serving.server
      do throws(StoreError) {
        serving.server = try await serve(serving.backend)
      } catch {
        state.withLock { [serving] in $0 = .suspended(serving, isStale: true) }
        try? await serving.backend.suspend()
        throw error
      }
      await before.end()
    }
    serving.server.housekeeping?.resume()
    state.withLock { [serving] in $0 = .serving(serving) }
  }

  nonisolated(nonsending) func close() async throws(StoreError) {
    let last = state.withLock { state in
      defer { state = .closed }
      return state
    }
    switch last {
    case .closed: return
    case .serving(let serving):
      await serving.server.settle()
      try await close(serving)
    case .suspended(let serving, _): try await close(serving)
    }
  }

  private nonisolated(nonsending) func close(_ serving: Serving) async throws(StoreError) {
    await serving.server.end()
    serving.server.housekeeping?.end()
    try await serving.backend.close()
  }

  var store: (backend: any StorageBackend, tree: TreeID)? {
    guard case .serving(let serving) = state.withLock({ $0 }) else { return nil }
    let trees = try? serving.backend.read { (view) throws(StoreError) in try view.trees() }
    let own = trees?.first { $0.name.utf8.elementsEqual(serving.server.treeName.utf8) }
    return (serving.backend, own?.id ?? TreeID(rawValue: 0))
  }

  var description: String { "a server within the process, with a store of its own" }
}
