import Conifer
import ConiferServer
import ConiferTree
import Foundation
import Synchronization
import TestSupport
import Testing

/// The guide's code does what the guide says.
@Suite struct `The guide's samples` {
  private let server = Server()

  private func open() -> Database {
    Database(DatabaseConfiguration(namespace: "my-app", transport: server.transport()))
  }

  private func data(_ path: Path) -> Node { server.data(path, in: "my-app") }

  @Test func `an app in a few lines`() async throws {
    let scratch = try Scratch()
    try await GuideSamples.readme(scratch.store, server.transport())
    #expect(data("rooms/r1/name") == "Attic")
  }

  @Test func `an app that goes to the background has sent its writes, and comes back`() async throws
  {
    let database = open()
    database.reference(withPath: "rooms/r1/name").enqueue(.set("Attic"))
    try await GuideSamples.background(database, .distantFuture) { Issue.record("Writes are left.") }
    #expect(data("rooms/r1/name") == "Attic")
    database.reference(withPath: "rooms/r1/name").enqueue(.set("Cellar"))
    try await database.resume()
    #expect(try await database.drain(until: .distantFuture).pending == 0)
    #expect(data("rooms/r1/name") == "Cellar")
    await database.close()
  }

  @Test func `writes, updates, server values and transactions reach the server`() async throws {
    let database = open()
    GuideSamples.write(database) { _ in }
    try await GuideSamples.writeAndWait(database).acknowledged()
    #expect(data("rooms/r1") == ["name": "Attic", "seats": 5, "floor": 3])
    #expect(try await GuideSamples.once(database) == "Attic")
    _ = try await database.reference(withPath: "rooms/r1").getData(policy: .server)
    #expect(try await GuideSamples.policies(database) == ["cached", "up to date", "cached"])
    server.set("users/ada/draft", "x", in: "my-app")
    try await GuideSamples.fanOut(database, ["title": "One"])
    #expect(data("posts").childCount == 1)
    #expect(data("users/ada/posts") == data("posts"))
    #expect(data("users/ada/draft").isEmpty)
    try await GuideSamples.serverValues(database)
    #expect(try await GuideSamples.transaction(database) == 2)
    #expect(data("posts/p1/stars") == 2)
    await database.close()
  }

  @Test func `values are coded, and come as sequences`() async throws {
    let database = open()
    let messages = try await GuideSamples.coding(database)
    #expect(messages.map(\.text) == ["Hello"])
    #expect(messages.first?.sent != nil)
    #expect(try await GuideSamples.batches(database, 1) == ["Hello"])
    var seen: [GuideSamples.Message] = []
    try await GuideSamples.sequences(database) {
      seen = $0
      return seen != messages
    }
    #expect(seen == messages)
    await database.close()
  }

  @Test func `the user's state is told until the server has taken the token`() async {
    struct Ada: TokenProvider {
      func token(forcingRefresh: Bool) async throws -> AuthToken? {
        AuthToken("ada", identity: "ada")
      }
    }
    var configuration = DatabaseConfiguration(namespace: "my-app", transport: server.transport())
    configuration.tokenProvider = Ada()
    let database = Database(configuration)
    var shown: [String] = []
    await GuideSamples.user(database) {
      shown.append($0)
      return $0 != "ada"
    }
    #expect(shown.last == "ada")
    await database.close()
  }

  @Test func `a write is followed by its text, and a refused one is given up`() async throws {
    let transport = server.transport()
    let database = GuideSamples.inMemory(transport)
    let saved = try #require(try await GuideSamples.follow(database))
    var told: [String] = []
    try await GuideSamples.outcome(database, saved) { told.append($0) }
    #expect(told == ["saved"])
    transport.refuse(next: 1)
    await GuideSamples.errors(database.reference(withPath: "rooms/r1")) { told.append($0) }
    #expect(told.last == "You may not rename this room.")
    #expect(try await database.rejectedWrites().count == 1)
    try await GuideSamples.clean(database) { $0 }
    #expect(try await database.pendingWriteTotals().rejected == 0)
    await database.close()
  }

  @Test func `the test server answers, keeps data, and is pumped`() async throws {
    #expect(try await ServerSamples.testServer() == ["name": "Attic"])
    let scratch = try Scratch()
    try await ServerSamples.authority(scratch.store)
    try await ServerSamples.pump(server)
    #expect(data("rooms/r1/name") == "Attic")
    #expect(GuideSamples.query(open()).error == nil)
  }
}
