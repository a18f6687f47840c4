import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferWire
import Synchronization
import TestSupport
import Testing

/// What waits, and for how long, while the token provider gives no answer.
@Suite struct `The engine of documents and a token provider that gives no answer` {
  /// A world in which ann is signed in.
  private func world(
    _ store: EngineStore = .memory
  ) async throws -> (EngineWorld, EngineSignIn) {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    return (world, signIn)
  }

  private func wait(_ name: String, _ world: EngineWorld) {
    world.engine.waitForPendingWrites { [told = world.told] in
      told.add("\(name) waited: \($0?.code.name ?? "")")
    }
  }

  // MARK: Waiting for writes

  @Test(arguments: EngineStore.allCases)
  func `waits for the writes that wait for the provider, too`(store: EngineStore) async throws {
    let (world, signIn) = try await world(store)
    signIn.set(.failure)
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    wait("before", world)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["before waited: "])
    try world.set("rooms/a", 1)
    wait("behind", world)
    await world.waitUntilIdle()
    #expect(world.told.take() == [])
    // Nor is it told when the provider is asked once more, and fails.
    world.engine.tokenDidChange()
    wait("meanwhile", world)
    await world.waitUntilIdle()
    #expect(world.told.take() == [])
    signIn.set(.user("ann"))
    world.clock.advance(by: 5_000)
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1 && world.told.take() == [])
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/a: done", "behind waited: ", "meanwhile waited: "])
    await world.end()
  }

  // MARK: No answer

  @Test(arguments: EngineStore.allCases)
  func `does all but writes after 30 seconds`(store: EngineStore) async throws {
    let (world, signIn) = try await world(store)
    world.engine.setNetwork(false) { _ in }
    signIn.set(.never)
    world.engine.tokenDidChange()
    let receipt = try world.set("rooms/a", 1)
    world.engine.listen(1, try world.query("rooms"), ListenOptions()) { [told = world.told] in
      told.add("1: \(EngineWorld.text($0))")
    }
    let path = try DocumentPath("rooms/a")
    world.engine.get(path, .cache) { [told = world.told] _ in told.add("got") }
    let asked = Task { [engine = world.engine, told = world.told] in
      _ = try await engine.pendingWrites(after: nil, limit: 1, rejectedOnly: false)
      told.add("listed")
    }
    wait("behind", world)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1:  cached"])
    world.clock.advance(by: 29_999)
    await world.waitUntilIdle()
    #expect(world.told.take() == [])
    world.clock.advance(by: 1)
    try await asked.value
    await world.waitUntilIdle()
    #expect(world.told.take().sorted() == ["got", "listed"])
    // Nobody is asked in vain for ever.
    let count = signIn.count
    world.clock.advance(by: 2_000)
    try await eventually("the provider is not asked again") { signIn.count == count + 1 }
    await world.waitUntilIdle()
    signIn.set(.user("bob"))
    signIn.answerLate(.failure)
    await world.waitUntilIdle()
    world.clock.advance(by: 120_000)
    await world.waitUntilIdle()
    #expect(try await receipt.id?.identity == "bob")
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 cached pending"])
    await world.end()
  }

  @Test func `takes an answer that comes late, unless somebody signed in since`() async throws {
    for isStale in [false, true] {
      let (world, signIn) = try await world()
      world.engine.setNetwork(false) { _ in }
      signIn.set(.never)
      world.engine.tokenDidChange()
      let receipt = try world.set("rooms/a", 1)
      await world.waitUntilIdle()
      world.clock.advance(by: 30_000)
      await world.waitUntilIdle()
      signIn.set(.failure)
      if isStale { world.engine.tokenDidChange() }
      await world.waitUntilIdle()
      signIn.answerLate(.user("bob"))
      if isStale {
        // The answer comes from a thread of its own; it would be taken before the next one.
        for _ in 0..<100 { await Task.yield() }
        await world.waitUntilIdle()
        signIn.set(.user("cem"))
        world.engine.tokenDidChange()
      }
      #expect(try await receipt.id?.identity == (isStale ? "cem" : "bob"))
      await world.end()
    }
  }

  @Test func `opens its streams again when no token comes in place of a refused one`()
    async throws
  {
    let (world, signIn) = try await world()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    _ = world.told.take()
    signIn.set(.never)
    world.server.refuse(.unauthenticated)
    world.server.breakWatch(.unauthenticated)
    await world.waitUntilIdle()
    for _ in 0..<5 {
      world.clock.advance(by: 3_000)
      await world.waitUntilIdle()
    }
    #expect(signIn.forcedCount == 1 && !world.server.hasWatch)
    signIn.set(.user("ann"))
    for _ in 0..<4 {
      world.clock.advance(by: 30_000)
      await world.waitUntilIdle()
    }
    #expect(world.server.hasWatch && world.server.sent.count == 1)
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take().contains("rooms/b: done"))
    await world.end()
  }

  @Test func `shows who is signed in when a transaction has waited for all else`() async throws {
    let (world, signIn) = try await world()
    let user = TransactionUser()
    let path = try DocumentPath("rooms/a")
    _ = try await world.engine.lookup([path], user)
    #expect(world.server.tokens == ["token of ann"])
    world.server.state.withLock {
      $0.preparation = { [engine = world.engine] in
        signIn.set(.user("bob"))
        engine.tokenDidChange()
        await engine.waitUntilIdle()
      }
    }
    let error = await #expect(throws: FirestoreError.self) {
      _ = try await world.engine.lookup([path], user)
    }
    #expect(error?.code == .cancelled && world.server.tokens == ["token of ann"])
    _ = try await world.engine.lookup([path], TransactionUser())
    #expect(world.server.tokens == ["token of ann", "token of bob"])
    await world.end()
  }

  @Test func `answers a transaction when no token comes`() async throws {
    let (world, signIn) = try await world()
    await world.listen(1, try world.query("rooms"))
    signIn.set(.never)
    world.server.breakWatch(.unauthenticated)
    await world.waitUntilIdle()
    world.clock.advance(by: 2_000)
    await world.waitUntilIdle()
    #expect(signIn.forcedCount == 1)
    let path = try DocumentPath("rooms/a")
    let asked = Task { [engine = world.engine] in
      _ = try await engine.lookup([path], TransactionUser())
    }
    await world.waitUntilIdle()
    world.clock.advance(by: 60_000)
    await world.waitUntilIdle()
    let error = await #expect(throws: FirestoreError.self) { try await asked.value }
    #expect(error?.code == .unavailable)
    await world.end()
  }
}
