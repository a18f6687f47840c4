import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferKeyValue
import ConiferWire
import TestSupport
import Testing

@Suite struct `The engine of documents` {
  @Test(arguments: EngineStore.allCases)
  func `follows a write from the call to the server's word`(store: EngineStore) async throws {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take() == [])
    let id = try #require(await world.engine.target(of: 1))
    #expect(id == 2 && world.server.targets.keys.sorted() == [2])
    try world.server.tell(id, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1"])

    let receipt = try world.set("rooms/a", 2)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a2 pending"])
    #expect(world.server.sent.count == 1)
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/a: done"])
    try world.server.tell("rooms/a", 2, to: [id], version: 2000)
    world.server.say(.targets(.noChange, []), at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a2"])
    #expect(try await receipt.outcome == .acknowledged)
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `has after a restart what it had before, and sends what waits`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2)], at: 1000)
    try world.set("rooms/c", 3)
    let receipt = try world.set("rooms/d", 4)
    await world.waitUntilIdle()
    let id = try #require(try await receipt.id)
    await world.restart()
    #expect(world.server.sent.count == 2)
    _ = world.told.take()
    await world.listen(2, try world.query("rooms"))
    #expect(world.told.take() == ["2: a1 b2 c3 d4 cached pending"])
    let target = try #require(world.server.targets[2])
    #expect(target.resumeToken == Array("t1000".utf8) && target.expectedCount == 2)
    let engine = world.engine
    async let outcome = engine.outcome(of: id)
    await world.waitUntilIdle()
    try world.server.accept(at: 2000)
    try world.server.accept(at: 3000)
    await world.waitUntilIdle()
    #expect(try await outcome == .acknowledged)
    await world.restart()
    #expect(world.server.sent.isEmpty)
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `asks about matches that it has without a token and that the server does not name`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    world.server.say(.targets(.added, [2]))
    for id in ["a", "b"] { try world.server.tell("rooms/\(id)", 1, to: [2], version: 1000) }
    world.server.say(.targets(.noChange, []), at: 1000)
    await world.restart()
    _ = world.told.take()
    await world.listen(2, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["2: a1 b1 cached"])
    #expect(await world.engine.inspect().activeLimbo.keys.map(\.id) == ["b"])
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `greets the server as the last stream did, in later runs too, so that nothing is made twice`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    // The token of the greeting is kept before anything is sent.
    await world.restart()
    #expect(world.server.greetings == [[], [1]] && world.server.sent.count == 1)
    try world.set("rooms/a", 2)
    await world.waitUntilIdle()
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    await world.restart()
    #expect(world.server.greetings.last == [2] && world.server.sent.count == 1)
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `keeps a refused write as a dead letter, and sends it again when asked to`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [], at: 1000)
    let receipt = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    _ = world.told.take()
    world.server.refuse(.permissionDenied)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/a: permissionDenied", "1: "])
    let id = try #require(try await receipt.id)
    guard case .rejected(let error) = try await world.engine.outcome(of: id) else {
      Issue.record("The write was not refused.")
      return
    }
    #expect(FirestoreError(error).code == .permissionDenied && error.message == "No.")
    let letters = try await world.engine.pendingWrites(after: nil, limit: 10, rejectedOnly: true)
    #expect(letters.map(\.id) == [id] && letters.map(\.attempts) == [1])

    try await world.engine.retry(id)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 pending"])
    #expect(world.server.sent.count == 1)
    world.server.refuse(.permissionDenied)
    await world.waitUntilIdle()
    try await world.engine.discard(id)
    #expect(try await world.engine.outcome(of: id) == .discarded)
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `tells of a batch of nothing how durable the writes before it are`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    let write = try world.set("rooms/a", 1)
    let nothing = world.engine.write([], nil)
    #expect(try await nothing.id == nil)
    #expect(try await nothing.outcome == .acknowledged)
    let level = try await write.durable
    #expect(level == (store == .memory ? .relaxed : .power))
    #expect(try await nothing.durable == level)
    await world.end()
    let late = world.engine.write([], nil)
    let error = await #expect(throws: DatabaseError.self) { try await late.durable }
    #expect(error?.code == .closed)
  }

  @Test(arguments: EngineStore.allCases)
  func `tells who waits for writes when those of then have ended, whatever became of later ones`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    func wait() {
      world.engine.waitForPendingWrites { [told = world.told] in told.add("waited \($0 == nil)") }
    }
    wait()
    await world.waitUntilIdle()
    #expect(world.told.take() == ["waited true"])
    for n in 1...11 { try world.set("rooms/a", Int64(n)) }
    let last = try world.set("rooms/b", 1)
    await world.waitUntilIdle()
    let id = try #require(try await last.id)
    // The newest write is given up while older ones wait.
    try await world.engine.discard(id)
    wait()
    await world.waitUntilIdle()
    _ = world.told.take()
    for n in 1...10 { try world.server.accept(at: Int64(n) * 1000) }
    await world.waitUntilIdle()
    #expect(!world.told.take().contains("waited true"))
    try world.set("rooms/c", 1)
    await world.waitUntilIdle()
    try world.server.accept(at: 11_000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/a: done", "waited true"])
    #expect(world.server.sent.count == 1)
    await world.end()
  }
}
