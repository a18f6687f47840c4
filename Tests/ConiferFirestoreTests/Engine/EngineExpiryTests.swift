import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferWire
import Synchronization
import TestSupport
import Testing

/// Tokens that expire, and those that the server refuses.
@Suite struct `The engine of documents and the end of a token` {
  /// A world in which ann is signed in, with a token that ends after an hour.
  private func world() async throws -> (EngineWorld, EngineSignIn) {
    let world = try EngineWorld(usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.token(token("first", world)))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    #expect(signIn.count == 2)
    return (world, signIn)
  }

  /// - Parameter lifetime: in milliseconds.
  private func token(
    _ text: String, _ world: EngineWorld, lifetime: Int64 = 3_600_000
  ) -> AuthToken {
    AuthToken(text, identity: "ann", expiry: world.clock.wallTime + lifetime)
  }

  private func lookUp(_ world: EngineWorld) async throws {
    _ = try await world.engine.lookup([DocumentPath("rooms/a")], TransactionUser())
  }

  @Test
  func `is prepared for a minute before, and what begins until the new one comes has the old one`()
    async throws
  {
    let (world, signIn) = try await world()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1"])
    world.clock.advance(by: 3_539_999)
    try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    #expect(signIn.count == 2 && world.server.tokens == ["first", "first"])
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    _ = world.told.take()

    // The first that begins a minute before the end asks, and the others do not ask again.
    signIn.set(.never)
    world.clock.advance(by: 1)
    world.server.refuse(.unavailable)
    world.server.breakWatch()
    try world.set("rooms/c", 3)
    try await lookUp(world)
    await world.waitUntilIdle()
    world.clock.advance(by: 5_000)
    await world.waitUntilIdle()
    #expect(signIn.count == 3 && signIn.forcedCount == 0)
    #expect(world.server.hasWatch && world.server.hasWrites)
    #expect(world.server.tokens == Array(repeating: "first", count: 5))

    signIn.set(.failure)
    signIn.answerLate(.token(token("second", world)))
    await world.waitUntilIdle()
    try await lookUp(world)
    world.server.breakWatch()
    await world.waitUntilIdle()
    world.clock.advance(by: 5_000)
    await world.waitUntilIdle()
    #expect(world.server.tokens.dropFirst(5) == ["second", "second"])
    #expect(signIn.count == 3 && world.server.sent.count == 1)
    await world.end()
  }

  @Test(arguments: [false, true])
  func `is not sooner because the provider has no other token`(isSilent: Bool) async throws {
    let (world, signIn) = try await world()
    world.clock.advance(by: 3_540_000)
    signIn.set(isSilent ? .never : .failure)
    for _ in 0..<3 {
      try await lookUp(world)
      await world.waitUntilIdle()
    }
    if isSilent {
      // It took too long to answer.
      world.clock.advance(by: 30_000)
      await world.waitUntilIdle()
      try await lookUp(world)
    }
    #expect(signIn.count == 3)
    // Half of the time that remained has passed.
    world.clock.advance(by: isSilent ? 15_000 : 30_000)
    try await lookUp(world)
    await world.waitUntilIdle()
    try await lookUp(world)
    #expect(signIn.count == 4)
    world.clock.advance(by: isSilent ? 14_999 : 29_999)
    try await lookUp(world)
    #expect(Set(world.server.tokens) == ["first"])
    await world.end()
  }

  @Test(arguments: [false, true])
  func `has what begins afterwards wait for the provider`(isLate: Bool) async throws {
    let (world, signIn) = try await world()
    world.clock.advance(by: 3_600_000)
    signIn.set(.never)
    let asked = Task { [engine = world.engine] in
      _ = try await engine.lookup([DocumentPath("rooms/a")], TransactionUser())
    }
    await world.waitUntilIdle()
    #expect(signIn.count == 3 && world.server.tokens == [])
    if isLate {
      world.clock.advance(by: 30_000)
      await #expect(throws: FirestoreError.self) { try await asked.value }
      #expect(world.server.tokens == [])
      signIn.set(.token(token("second", world)))
      try await lookUp(world)
    } else {
      signIn.set(.failure)
      signIn.answerLate(.token(token("second", world)))
      try await asked.value
      #expect(signIn.count == 3)
    }
    #expect(world.server.tokens == ["second"])
    await world.end()
  }

  @Test(arguments: [false, true])
  func `leaves no write unqueued when the provider has none but the refused one`(
    isSilent: Bool
  ) async throws {
    let (world, signIn) = try await world()
    await world.listen(1, try world.query("rooms"))
    await world.waitUntilIdle()
    _ = world.told.take()
    signIn.set(.never)
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    world.server.breakWatch(.unauthenticated)
    await world.waitUntilIdle()
    // Who it is, it says; another token it does not give.
    signIn.set(isSilent ? .never : .failure)
    signIn.answerLate(.token(token("first", world)))
    await world.waitUntilIdle()
    #expect(signIn.forcedCount == 1)
    try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    let told = world.told.take()
    #expect(told.contains { $0.contains("b2") }, "\(told)")
    await world.end()
  }

  @Test(arguments: [30_000, 0, -3_600_000])
  func `does not have every request ask where it is near, or past by another clock`(
    lifetime: Int64
  ) async throws {
    let (world, signIn) = try await world()
    world.clock.advance(by: 3_600_000)
    signIn.set(.token(token("second", world, lifetime: lifetime)))
    for _ in 0..<3 {
      try await lookUp(world)
      await world.waitUntilIdle()
    }
    world.clock.advance(by: 14_999)
    try await lookUp(world)
    await world.waitUntilIdle()
    #expect(signIn.count == 3)
    #expect(world.server.tokens == Array(repeating: "second", count: 4))
    await world.end()
  }

  @Test(arguments: [false, true])
  func `comes by a refusal while the provider is asked, which then gives the refused one again`(
    asksWhoItIs: Bool
  ) async throws {
    let (world, signIn) = try await world()
    await world.listen(1, try world.query("rooms"))
    #expect(world.server.tokens == ["first"])
    let first = token("first", world)
    signIn.set(.never)
    if asksWhoItIs {
      world.engine.tokenDidChange()
    } else {
      world.clock.advance(by: 3_540_000)
      try await lookUp(world)
    }
    await world.waitUntilIdle()
    #expect(signIn.count == 3)
    world.server.breakWatch(.unauthenticated)
    await world.waitUntilIdle()
    // It has no other one also when it is to fetch one, which is asked of it once.
    signIn.set(.token(first))
    signIn.answerLate(.token(first))
    await world.waitUntilIdle()
    world.clock.advance(by: 2_000)
    await world.waitUntilIdle()
    #expect(signIn.count == 4 && signIn.forcedCount == 1)
    #expect(world.server.hasWatch && world.server.tokens.last == "first")
    try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1)
    await world.end()
  }

  @Test func `stays with the streams that are open, which the server may end`() async throws {
    let (world, signIn) = try await world()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    world.clock.advance(by: 7_200_000)
    await world.waitUntilIdle()
    #expect(world.server.hasWatch && signIn.count == 2)
    signIn.set(.token(token("second", world)))
    world.server.breakWatch(.unauthenticated)
    await world.waitUntilIdle()
    #expect(world.server.hasWatch && world.server.tokens == ["first", "second"])
    #expect(signIn.count == 3 && signIn.forcedCount == 1)
    await world.end()
  }

  @Test func `is not the new token's end when an answer to the old one comes late`() async throws {
    let (world, signIn) = try await world()
    await world.listen(1, try world.query("rooms"))
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    #expect(world.server.tokens == ["first", "first"])
    signIn.set(.token(token("second", world)))
    world.server.breakWatch(.unauthenticated)
    await world.waitUntilIdle()
    world.clock.advance(by: 2_000)
    await world.waitUntilIdle()
    #expect(world.server.tokens.last == "second" && signIn.forcedCount == 1)
    // Only now the stream of writes, which began with the old token, is refused.
    world.server.refuse(.unauthenticated)
    await world.waitUntilIdle()
    world.clock.advance(by: 2_000)
    await world.waitUntilIdle()
    #expect(signIn.forcedCount == 1 && signIn.count == 3)
    #expect(world.server.tokens == ["first", "first", "second", "second"])
    #expect(world.server.sent.count == 1)
    // The new one may be refused, too.
    signIn.set(.token(token("third", world)))
    world.server.refuse(.unauthenticated)
    await world.waitUntilIdle()
    world.clock.advance(by: 5_000)
    await world.waitUntilIdle()
    #expect(world.server.tokens.last == "third" && signIn.forcedCount == 2)
    await world.end()
  }

  @Test(arguments: ["a lookup", "an aggregate"])
  func `comes when a request is refused, once`(request: String) async throws {
    let (world, signIn) = try await world()
    let engine = world.engine
    let query = try world.query("rooms")
    func ask() async throws {
      if request == "a lookup" {
        _ = try await engine.lookup([DocumentPath("rooms/a")], TransactionUser())
      } else {
        let answer = await withCheckedContinuation { answered in
          engine.aggregate(query, [.count], .server) { answered.resume(returning: $0) }
        }
        _ = try answer.get()
      }
    }
    signIn.set(.token(token("second", world)))
    world.server.state.withLock { $0.refusal = StatusError(.unauthenticated, "No.") }
    await #expect(throws: FirestoreError.self) { try await ask() }
    world.server.state.withLock { $0.refusal = nil }
    try await ask()
    try await ask()
    #expect(world.server.tokens == ["first", "second", "second"])
    #expect(signIn.forcedCount == 1)
    await world.end()
  }
}
