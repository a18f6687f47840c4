import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferWire
import TestSupport
import Testing

/// A full disk takes no new writes, and nothing that the server says to listeners; the queue goes on to the server, and its
/// answers are stored.
@Suite struct `The engine of documents on a full disk` {
  private let disk = FullStore()

  private func world() throws -> EngineWorld {
    try EngineWorld { [disk] in $0.storage = disk.configuration }
  }

  /// A world with a listener, and writes that were sent.
  private func sent(_ names: [String]) async throws -> EngineWorld {
    let world = try world()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    for name in names { try world.set("rooms/\(name)", 2) }
    await world.waitUntilIdle()
    #expect(world.server.sent.count == names.count)
    _ = world.told.take()
    return world
  }

  @Test func `stores refusals, and sends on`() async throws {
    let world = try await sent(["b", "c", "d"])
    disk.setFull(true)
    // More words than the write has.
    let words = String(repeating: "It may not be written by those who ask. ", count: 20)
    for _ in 0..<2 {
      world.server.refuse(.permissionDenied, words)
      await world.waitUntilIdle()
    }
    #expect(world.server.sent.map { $0.map(\.path.id) } == [["d"]])
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    let ends = world.told.take().filter { $0.hasPrefix("rooms/") }
    #expect(
      ends == ["rooms/b: permissionDenied", "rooms/c: permissionDenied", "rooms/d: done"])
    #expect(await world.engine.inspect().retry == nil)
    let refused = try await world.engine.pendingWrites(after: nil, limit: 9, rejectedOnly: false)
    #expect(refused.map { $0.batch.mutations.map(\.path.id) } == [["b"], ["c"]])
    await world.end()
  }

  @Test func `begins to send what was written offline`() async throws {
    let world = try world()
    world.engine.setNetwork(false) { _ in }
    for name in ["a", "b"] { try world.set("rooms/\(name)", 1) }
    await world.waitUntilIdle()
    disk.setFull(true)
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 2)
    for time: Int64 in 1...2 {
      try world.server.accept(at: time * 1000)
      await world.waitUntilIdle()
    }
    #expect(world.told.take() == ["rooms/a: done", "rooms/b: done"])
    await world.end()
  }

  @Test func `goes on sending when what listeners are to be told cannot be stored`()
    async throws
  {
    let world = try await sent(["b", "c"])
    disk.setFull(true)
    try world.server.tell("rooms/a", 3, to: [2], version: 2000)
    world.server.say(.targets(.noChange, []), at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 b2 c2 cached pending"])
    #expect(!world.server.hasWatch && world.server.hasWrites)
    // The answers come while it is seen, again and again, whether there is room.
    try world.server.accept(at: 3000)
    await world.waitUntilIdle()
    #expect(world.told.take().contains("rooms/b: done"))
    for _ in 0..<5 {
      world.clock.advance(by: 20_000)
      await world.waitUntilIdle()
    }
    world.server.refuse(.permissionDenied, String(repeating: "No. ", count: 200))
    await world.waitUntilIdle()
    #expect(world.told.take().contains("rooms/c: permissionDenied"))
    // What is new is refused alone.
    try world.set("rooms/d", 4)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/d: resourceExhausted"])
    disk.setFull(false)
    for _ in 0..<4 {
      world.clock.advance(by: 60_000)
      await world.waitUntilIdle()
    }
    #expect(world.server.hasWatch)
    try world.server.tell(2, [("rooms/a", 3), ("rooms/b", 2)], at: 4000)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "1: a3 b2")
    await world.end()
  }

  @Test func `signs others in, whose writes are sent`() async throws {
    let world = try EngineWorld(usesTokens: true) { [disk] in $0.storage = disk.configuration }
    let signIn = try #require(world.signIn)
    world.engine.setNetwork(false) { _ in }
    for user in ["ann", "bob"] {
      signIn.set(.user(user))
      world.engine.tokenDidChange()
      try world.set("rooms/\(user)", 1)
      await world.waitUntilIdle()
    }
    disk.setFull(true)
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    for (time, user) in [(Int64(1), "bob"), (2, "ann")] {
      signIn.set(.user(user))
      world.engine.tokenDidChange()
      await world.waitUntilIdle()
      #expect(world.server.sent.map { $0.map(\.path.id) } == [[user]])
      try world.server.accept(at: time * 1000)
      await world.waitUntilIdle()
    }
    #expect(world.told.take() == ["rooms/bob: done", "rooms/ann: done"])
    await world.end()
  }
}
