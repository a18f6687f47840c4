import ConiferKeyValue
import ConiferStorage
import ConiferTree

#if Network
  import Conifer
  import ConiferWebSocket
#endif

/// The stores of a client's demo: one of the client, and one of the server beside it.
struct DemoStores {
  /// The database's name.
  static let namespace = "demo"

  let client: String
  let server: String

  init(_ url: String) throws {
    let end = url.firstIndex(of: "?") ?? url.endIndex
    client = url
    server = url[..<end] + "-server?role=authority"
    guard try Self.storage(client).location != nil else {
      throw Failure.usage("\(url) keeps nothing when its process dies: choose another backend.")
    }
  }

  /// The configuration that a URL means.
  static func storage(_ url: String) throws -> StorageConfiguration {
    try Tool.registry.configuration(url)
  }
}

#if Network
  extension DemoStores {
    /// A client whose data is kept; it connects when the network lets it.
    func openClient(_ address: String) throws -> Database {
      Database(
        DatabaseConfiguration(
          namespace: Self.namespace, storage: try Self.storage(client),
          transport: .webSocket(address)))
    }

    /// Makes a tree all that the server has.
    func fillServer(_ node: Node) async throws {
      let backend = try Self.storage(server).open()
      do throws(StoreError) {
        let tree = try await backend.tree(named: Self.namespace)
        _ = try await backend.commit([.overwrite(tree, .root, node)], backend.traits.durability)
      } catch {
        try? await backend.close()
        throw error
      }
      try await backend.close()
    }
  }
#endif
