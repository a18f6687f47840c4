import Conifer
import ConiferLog
import ConiferServer
import ConiferStorage
import ConiferTree

/// The code of Docs/TestServer.md, as `GuideSamples` has that of the guide.
enum ServerSamples {
  static func testServer() async throws -> Node {
    let server = Server()
    server.set("rooms/r1", ["name": "Kitchen"], in: "my-app")
    let transport = server.transport()
    let database = Database(DatabaseConfiguration(namespace: "my-app", transport: transport))
    try await database.reference(withPath: "rooms/r1/name").setValue("Attic")
    let stored = server.data("rooms/r1", in: "my-app")
    await database.close()
    return stored
  }

  static func authority(_ directory: String) async throws {
    let server = Server()
    let backend = try StorageConfiguration.log(
      at: directory, options: StorageOptions(role: .authority)
    ).open()
    try await server.open("my-app", in: backend)
    server.set("rooms/r1", ["name": "Kitchen"], in: "my-app")
    await server.waitUntilIdle("my-app")
    try await backend.close()
  }

  static func access() -> (server: Server, tokens: TokenTable) {
    let tokens = TokenTable(["t1": VerifiedToken(uid: "ada")])
    let server = Server(
      ServerConfiguration(
        authenticator: tokens,
        rules: ClosureRules(write: { path, _, context in
          path.first == Key("public") || context.auth?.uid == "ada"
        })))
    return (server, tokens)
  }

  static func faults(_ transport: InProcessTransport) {
    transport.refuse(next: 1)
    transport.loseAnswer()
    transport.delay(.milliseconds(200), .toClient)
    transport.disconnect(serverNotices: false)
    transport.isReachable = false
  }

  static func pump(_ server: Server) async throws {
    let pump = DeliveryPump(seed: 7)
    let transport = server.transport(.manual(pump))
    let database = Database(DatabaseConfiguration(namespace: "my-app", transport: transport))
    let receipt = database.reference(withPath: "rooms/r1/name").enqueue(.set("Attic"))
    repeat {
      _ = try await database.pendingWriteTotals()
    } while pump.step()
    try await receipt.acknowledged()
    await database.close()
  }
}
