import Conifer
import ConiferServer
import ConiferTree
import TestSupport
import Testing

/// The guides' code in async functions, run against a server.
@Suite struct `The guides in async functions` {
  private func world(
    _ name: String, _ body: (Server, InProcessTransport, AsyncBlog) async throws -> Void
  ) async throws {
    let world = GuideWorld(name)
    let transport = world.server.transport()
    let database = Database(DatabaseConfiguration(namespace: name, transport: transport))
    try await body(world.server, transport, AsyncBlog(database))
    await database.close()
  }

  @Test func `what was awaited is on the server, and what it refuses is caught`() async throws {
    try await world("async-writes") { server, transport, blog in
      try await blog.addUser("u1", name: "ada")
      #expect(server.data("users/u1/username", in: "async-writes") == "ada")
      #expect(try await blog.readNameOnce("u1") == "ada")
      #expect(await blog.addUserAndTell("u2", name: "joan") == "Saved at u2")
      #expect(server.data("users/u2/username", in: "async-writes") == "joan")
      transport.refuse(next: 1)
      #expect(await blog.addUserAndTell("u3", name: "x").hasPrefix("Not saved: "))
      #expect(server.data("users/u3", in: "async-writes").isEmpty)
      try await blog.renameInATask("u1", to: "grace").value
      #expect(server.data("users/u1/username", in: "async-writes") == "grace")
    }
  }

  @Test func `updates, removals and transactions are on the server when they return`()
    async throws
  {
    try await world("async-posts") { server, _, blog in
      let key = try #require(try await blog.publish("Title", by: "u1"))
      #expect(server.data(Path("posts/\(key)/title"), in: "async-posts") == "Title")
      #expect(try await blog.star(key, by: "u2"))
      #expect(blog.runs >= 1)
      #expect(server.data(Path("posts/\(key)/starCount"), in: "async-posts") == 1)
      try await blog.unpublish(key, of: "u1")
      #expect(server.data(.root, in: "async-posts").isEmpty)
    }
  }

  @Test func `what was arranged for the connection's end is done then`() async throws {
    try await world("async-presence") { server, transport, blog in
      try await blog.beOnline("u1")
      let user = { (place: String) in
        server.data(Path("users/u1/\(place)"), in: "async-presence")
      }
      #expect(user("connections").childCount == 1)
      #expect(user("rank").priority != nil)
      transport.disconnect()
      #expect(await eventually { user("connections").isEmpty })
      #expect(!user("lastOnline").isEmpty)
      #expect(user("away").isEmpty)
    }
  }

  @Test func `a block in async code is called later, and a closure that is not async goes on`()
    async throws
  {
    try await world("async-blocks") { server, transport, blog in
      transport.hold(.toServer)
      let told = Gathered<String>()
      await blog.addUserWithBlock("u1", name: "ada") { told.add($0) }
      await blog.renameAll(["u1", "u2"])
      #expect(told.all.isEmpty)
      transport.release()
      #expect(await told.wait { Set($0) == ["Saved at u1", "Arranged at u1"] })
      try await blog.addUser("u9", name: "last")
      #expect(server.data("users/u2/username", in: "async-blocks") == "renamed")
      #expect(server.data("log/u1", in: "async-blocks") == Node("added", priority: 1))
    }
  }

  @Test func `code of the main actor awaits too`() async throws {
    let world = GuideWorld("async-main")
    let screen = await AsyncScreen(
      DatabaseConfiguration(namespace: world.namespace, transport: world.server.transport()))
    #expect(try await screen.load() == 1)
    #expect(await screen.title == "T")
    #expect(await screen.runs >= 1)
    await screen.database.close()
  }
}
