import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferWire
import Dispatch
import Logging
import Synchronization
import TestSupport
import Testing

@Suite struct `The engine of documents and the network` {
  @Test func `is offline at once without a way to a server`() async throws {
    let world = try EngineWorld { $0.transport = nil }
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take() == ["1:  cached"])
    #expect(await world.engine.inspect().onlineState == .offline)
    await world.end()
  }

  @Test func `tells listeners and keeps writes while the app wants no network`() async throws {
    let world = try EngineWorld()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    _ = world.told.take()
    world.engine.setNetwork(false) { [told = world.told] _ in told.add("off") }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 cached", "off"])
    try world.set("rooms/b", 2)
    world.engine.waitForPendingWrites { [told = world.told] _ in told.add("waited") }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 b2 cached pending"])
    #expect(!world.server.hasWatch && !world.server.hasWrites)
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1 && world.server.hasWatch)
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/b: done", "waited"])
    await world.end()
  }

  @Test func `logs once why the server cannot be reached`() async throws {
    let notes = Gathered<String>()
    let world = try EngineWorld {
      $0.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
    }
    await world.listen(1, try world.query("rooms"))
    for _ in 0..<2 {
      world.server.breakWatch()
      await world.waitUntilIdle()
      world.clock.advance(by: 60_000)
      await world.waitUntilIdle()
    }
    let warnings = notes.all.filter { $0.contains("cannot be reached") }
    #expect(warnings.count == 1 && warnings.first?.contains("Broken.") == true)
    await world.end()
  }

  @Test func `closes streams that nobody needs after a minute`() async throws {
    let world = try EngineWorld()
    await world.listen(1, try world.query("rooms"))
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    try world.server.accept(at: 1000)
    world.engine.unlisten(1)
    await world.waitUntilIdle()
    #expect(world.server.hasWatch && world.server.hasWrites)
    world.clock.advance(by: 60_000)
    await world.waitUntilIdle()
    #expect(!world.server.hasWatch && !world.server.hasWrites)
    await world.end()
  }

  @Test func `closes a stream that was needed no longer before it was open`() async throws {
    let world = try EngineWorld()
    world.engine.listen(1, try world.query("rooms"), ListenOptions()) { _ in }
    world.engine.unlisten(1)
    await world.waitUntilIdle()
    #expect(world.server.hasWatch)
    world.clock.advance(by: 60_000)
    await world.waitUntilIdle()
    #expect(!world.server.hasWatch)
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `hears a server whose time was far ahead and is right again, in later runs too`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    let future: Int64 = 4_000_000_000_000_000
    try world.server.tell(2, [("rooms/a", 1)], at: future)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1"])
    try world.server.tell("rooms/a", 2, to: [2], version: 2_000_000)
    world.server.say(.targets(.noChange, []), at: 2_000_000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a2 cached"])
    #expect(world.server.targets[2]?.resumeToken == [])
    world.server.say(.targets(.removed, [2]))
    try world.server.tell(2, [("rooms/a", 2)], at: 2_000_000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a2"])
    await world.restart()
    await world.listen(2, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 3)], at: 3_000_000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["2: a2 cached", "2: a3"])
    await world.end()
  }

  @Test func `takes a document back that came from the future`() async throws {
    let world = try EngineWorld()
    await world.listen(1, try world.query("rooms"))
    world.server.say(.targets(.added, [2]))
    try world.server.tell("rooms/a", 1, to: [2], version: 4_000_000_000_000_000)
    world.server.say(.targets(.current, [2], resumeToken: [1]))
    world.server.say(.targets(.noChange, []), at: 1_000_000)
    try world.server.tell("rooms/a", 2, to: [2], version: 2_000_000)
    world.server.say(.targets(.noChange, []), at: 2_000_000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1", "1: a2"])
    await world.end()
  }

  @Test func `is offline after ten seconds without a word`() async throws {
    let world = try EngineWorld()
    await world.listen(1, try world.query("rooms"))
    world.clock.advance(by: 9_999)
    await world.waitUntilIdle()
    #expect(world.told.take() == [])
    world.clock.advance(by: 1)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1:  cached"])
    await world.end()
  }

  @Test func `tells those who wait for all listeners to be of one moment`() async throws {
    let world = try EngineWorld()
    world.engine.listenInSync(9) { [told = world.told] in told.add("in sync") }
    await world.listen(1, try world.query("rooms"))
    await world.listen(2, try world.query("rooms"))
    #expect(world.told.take() == ["in sync"])
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1", "2: a1", "in sync"])
    world.engine.unlisten(9)
    try world.set("rooms/a", 2)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a2 pending", "2: a2 pending"])
    await world.end()
  }

  @Test func `tells those who begin to wait for one moment of no round before`() async throws {
    let calls = Gathered<@Sendable () -> Void>()
    let isHeld = Mutex(false)
    let world = try EngineWorld {
      $0.callbackQueue = CallbackQueue(queue: .global()) { call in
        if isHeld.withLock({ $0 }) { calls.add(call) } else { call() }
      }
    }
    world.engine.listenInSync(8) { [told = world.told] in told.add("8") }
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    _ = world.told.take()
    isHeld.withLock { $0 = true }
    try world.set("rooms/a", 2)
    world.engine.listenInSync(9) { [told = world.told] in told.add("9") }
    for _ in 0..<4 { _ = await world.engine.target(of: 1) }
    isHeld.withLock { $0 = false }
    for call in calls.take() { call() }
    #expect(world.told.take() == ["1: a2 pending", "8", "9"])
    await world.waitUntilIdle()
    await world.end()
  }

  @Test func `tells nothing once its end has begun`() async throws {
    let world = try EngineWorld()
    let receipt = try world.set("rooms/a", 1)
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take() == ["1: a1 cached pending"])
    await world.end()
    try world.set("rooms/b", 1)
    await world.listen(2, try world.query("rooms"))
    await #expect(throws: DatabaseError.self) { try await receipt.outcome }
    await #expect(throws: FirestoreError.self) {
      try await world.engine.lookup([DocumentPath("rooms/a")], TransactionUser())
    }
    #expect(world.told.take() == [] && !world.server.hasWatch)
  }

  @Test func `tells nobody who ended in the moment in which they began`() async throws {
    let world = try EngineWorld()
    world.engine.listenInSync(9) { [told = world.told] in told.add("in sync") }
    world.engine.unlisten(9)
    await world.waitUntilIdle()
    _ = world.told.take()
    try world.set("rooms/a", 1)
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take() == ["1: a1 cached pending"])
    await world.end()
  }
}
