import Conifer
import ConiferLMDB
import ConiferServer
import ConiferStorage
import Foundation
import TestSupport

/// A server, and clients of it.
final class GuideWorld: Sendable {
  let server = Server()
  let namespace: String

  init(_ namespace: String) { self.namespace = namespace }

  /// A client in memory, to see what the server has.
  func client() -> Database {
    Database(DatabaseConfiguration(namespace: namespace, transport: server.transport()))
  }
}

/// The app of the guides: the common database of the class, configured once for the process.
enum GuideApp {
  static let world = GuideWorld("guide")
  static let transport = world.server.transport()
  static let database: Database = {
    Database.configure(
      DatabaseConfiguration(namespace: "guide", storage: .memory, transport: transport))
    return Database.database()
  }()
  /// Another client of the same server.
  static let other = world.client()
}

/// A device whose files outlive its app.
final class Device {
  private let scratch: Scratch
  let transport: InProcessTransport
  private let namespace: String
  private(set) var database: Database

  init(_ world: GuideWorld) throws {
    scratch = try Scratch()
    transport = world.server.transport()
    namespace = world.namespace
    database = Self.open(scratch, transport, namespace)
  }

  /// Ends the app, and starts it again with or without a network.
  func restart(online: Bool) async {
    await database.close()
    transport.isReachable = online
    database = Self.open(scratch, transport, namespace)
  }

  private static func open(
    _ scratch: Scratch, _ transport: InProcessTransport, _ namespace: String
  ) -> Database {
    Database(
      DatabaseConfiguration(
        namespace: namespace, storage: .lmdb(at: scratch.store), transport: transport))
  }
}

extension Gathered {
  /// Waits until a condition holds; false after a time so long that it never will.
  func wait(_ condition: @Sendable ([Element]) -> Bool) async -> Bool {
    await eventually { condition(self.all) }
  }
}

/// Waits until a condition holds; false after a time so long that it never will.
func eventually(
  isolation: isolated (any Actor)? = #isolation, _ condition: () async -> Bool
) async -> Bool {
  do {
    try await TestSupport.eventually("A condition of a guide never holds.", condition)
    return true
  } catch {
    return false
  }
}
