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

  private func token(_ text: String, _ world: EngineWorld) -> AuthToken {
    AuthToken(text, identity: "ann", expiry: world.clock.wallTime + 3_600_000)
  }

  @Test
  func `is replaced a minute before its end, and what begins meanwhile waits for the new one`()
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

    // The first that begins a minute before the end asks, and all wait for the one answer.
    signIn.set(.never)
    world.clock.advance(by: 1)
    world.server.refuse(.unavailable)
    world.server.breakWatch()
    try world.set("rooms/c", 3)
    let asked = Task { [engine = world.engine] in
      _ = try await engine.lookup([DocumentPath("rooms/a")], TransactionUser())
    }
    await world.waitUntilIdle()
    world.clock.advance(by: 5_000)
    await world.waitUntilIdle()
    #expect(signIn.count == 3 && signIn.forcedCount == 0)
    #expect(!world.server.hasWatch && !world.server.hasWrites)
    #expect(world.server.tokens == ["first", "first"])

    signIn.set(.failure)
    signIn.answerLate(.token(token("second", world)))
    try await asked.value
    await world.waitUntilIdle()
    #expect(world.server.tokens.dropFirst(2) == ["second", "second", "second"])
    #expect(world.server.sent.count == 1)
    try world.server.accept(at: 3000)
    try world.server.tell(2, [("rooms/a", 4)], at: 3000)
    await world.waitUntilIdle()
    let told = world.told.take()
    #expect(told.contains("rooms/c: done") && told.last?.hasPrefix("1: a4") == true, "\(told)")
    #expect(signIn.count == 3)
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
