import Conifer
import ConiferKeyValue
import ConiferServer
import ConiferStorage

/// The stores of the client demo: one of the client, and one of the server beside it.
struct DemoStores {
  /// The database's name.
  static let namespace = "demo"

  let client: String
  let server: String

  init(_ url: String) throws {
    let end = url.firstIndex(of: "?") ?? url.endIndex
    client = url
    server = url[..<end] + "-server?role=authority"
    guard try storage(client).location != nil else {
      throw Failure.usage("\(url) keeps nothing when its process dies: choose another backend.")
    }
  }

  private func storage(_ url: String) throws -> StorageConfiguration {
    try StoreOptions.registry.configuration(url)
  }

  /// A client whose data is kept; it connects when the transport lets it.
  func openClient(_ transport: InProcessTransport) throws -> Database {
    Database(
      DatabaseConfiguration(
        namespace: Self.namespace, storage: try storage(client), transport: transport))
  }

  /// Does something with the server, whose data is kept.
  func withServer<R>(_ body: (Server) async throws -> R) async throws -> R {
    let server = Server()
    let backend = try storage(self.server).open()
    let result: R
    do {
      try await server.open(Self.namespace, in: backend)
      result = try await body(server)
    } catch {
      try? await backend.close()
      throw error
    }
    await server.settle(Self.namespace)
    try await backend.close()
    return result
  }
}
