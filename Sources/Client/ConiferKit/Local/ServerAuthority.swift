import Conifer
import ConiferEngine
import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferWire
import Synchronization

/// The authority of a database without a server: a server in this process that serves this one database from a store
/// of its own. It is also the transport that leads there.
final class ServerAuthority: LocalAuthority, Transport {
  private struct Serving: Sendable {
    let backend: any StorageBackend
    let transport: InProcessTransport
    /// What keeps the store tidy; nil when nothing does.
    let housekeeping: HousekeepingRunner?
  }

  private enum State: Sendable {
    case closed
    case serving(Serving)
    /// Stale: the server does not know what another process has changed in the store.
    case suspended(Serving, isStale: Bool)
  }

  private let configuration: DatabaseConfiguration
  private let state = Mutex(State.closed)

  init(_ configuration: DatabaseConfiguration) { self.configuration = configuration }

  // MARK: The store

  nonisolated(nonsending) func open() async throws(StoreError) {
    let backend = try configuration.authorityStorage.open()
    do throws(StoreError) {
      let serving = try await serve(backend)
      state.withLock { $0 = .serving(serving) }
    } catch {
      try? await backend.close()
      throw error
    }
  }

  private nonisolated(nonsending) func serve(
    _ backend: any StorageBackend
  ) async throws(StoreError) -> Serving {
    var settings = ServerConfiguration(logger: configuration.logger)
    settings.housekeeping = configuration.housekeeping
    let server = Server(settings)
    try await server.open(configuration.namespace, in: backend)
    return Serving(
      backend: backend, transport: server.transport(),
      housekeeping: settings.housekeeping(of: backend))
  }

  nonisolated(nonsending) func suspend() async throws(StoreError) {
    switch current {
    case .closed: return
    case .serving(let serving):
      await settle(serving)
      await serving.housekeeping?.suspend()
      // Also when the store fails: it may have let go of its files, and another call or `resume` finds out.
      state.withLock { $0 = .suspended(serving, isStale: false) }
      try await serving.backend.suspend()
    case .suspended(let serving, _): try await serving.backend.suspend()
    }
  }

  nonisolated(nonsending) func resume() async throws(StoreError) {
    guard case .suspended(var serving, let wasStale) = current else { return }
    let isChanged = try await serving.backend.resumeNotingChanges()
    if isChanged || wasStale {
      // The server has the data in memory as it was before.
      do throws(StoreError) {
        serving = try await serve(serving.backend)
      } catch {
        state.withLock { [serving] in $0 = .suspended(serving, isStale: true) }
        try? await serving.backend.suspend()
        throw error
      }
    }
    serving.housekeeping?.resume()
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
      await settle(serving)
      try await close(serving)
    case .suspended(let serving, _): try await close(serving)
    }
  }

  private nonisolated(nonsending) func close(_ serving: Serving) async throws(StoreError) {
    serving.housekeeping?.end()
    try await serving.backend.close()
  }

  /// Returns when the server has handled all that was sent, the end of the connection too, and has stored it.
  private nonisolated(nonsending) func settle(_ serving: Serving) async {
    await serving.transport.waitUntilDelivered()
    await serving.transport.server.waitUntilIdle(configuration.namespace)
  }

  private var current: State { state.withLock { $0 } }

  var store: (backend: any StorageBackend, tree: TreeID)? {
    guard case .serving(let serving) = current else { return nil }
    let trees = try? serving.backend.read { (view) throws(StoreError) in try view.trees() }
    let own = trees?.first { $0.name == configuration.namespace }
    return (serving.backend, own?.id ?? TreeID(rawValue: 0))
  }

  // MARK: The way to it

  func connect(
    _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
  ) -> any TransportConnection {
    switch current {
    case .serving(let serving), .suspended(let serving, _):
      return serving.transport.connect(request, receive: receive)
    case .closed:
      let nowhere = Server().transport()
      nowhere.isReachable = false
      return nowhere.connect(request, receive: receive)
    }
  }

  var description: String { "a server within the process, with a store of its own" }
}
