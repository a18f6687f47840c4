import Conifer
import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferWire

/// A server of the tree for one database, and the way to it.
struct LocalTreeServer: LocalServer {
  let transport: InProcessTransport
  let treeName: String
  let housekeeping: HousekeepingRunner?

  /// A server with what the store has.
  ///
  /// - Throws: as the store's reads.
  init(
    _ configuration: DatabaseConfiguration, _ backend: any StorageBackend
  ) async throws(StoreError) {
    var settings = ServerConfiguration(logger: configuration.logger)
    settings.housekeeping = configuration.housekeeping
    // What they say may be hours old when the app starts again.
    settings.keepsDisconnects = false
    // Nobody is signed in whom they could allow something.
    settings.keepsRules = false
    let server = Server(settings)
    treeName = configuration.namespace
    try await server.open(treeName, in: backend)
    transport = server.transport()
    housekeeping = settings.housekeeping(of: backend)
  }

  func settle() async {
    await transport.waitUntilDelivered()
    await transport.server.waitUntilIdle(treeName)
  }

  /// Nobody is connected any more.
  func end() async {}
}

extension ServerAuthority: Transport, CustomStringConvertible where Server == LocalTreeServer {
  func connect(
    _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
  ) -> any TransportConnection {
    if let server { return server.transport.connect(request, receive: receive) }
    let nowhere = ConiferServer.Server().transport()
    nowhere.isReachable = false
    return nowhere.connect(request, receive: receive)
  }
}
