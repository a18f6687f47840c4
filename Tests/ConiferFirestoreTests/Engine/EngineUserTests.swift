import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferWire
import TestSupport
import Testing

@Suite struct `The engine of documents and its user` {
  @Test(arguments: EngineStore.allCases)
  func `shows and sends each user's writes alone`(store: EngineStore) async throws {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    try world.set("rooms/b", 2)
    world.engine.waitForPendingWrites { [told = world.told] in
      told.add("waited: \($0?.code.name ?? "")")
    }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1", "1: a1 b2 pending"])
    #expect(world.server.tokens.last == "token of ann" && world.server.sent.count == 1)

    signIn.set(.user("bob"))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    #expect(world.told.take() == ["waited: cancelled", "1: a1"])
    #expect(world.server.sent.isEmpty && world.server.tokens.last == "token of bob")
    #expect(world.server.targets[2]?.resumeToken == Array("t1000".utf8))
    #expect(await world.engine.inspect().user == "bob")

    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 b2 pending"])
    #expect(world.server.sent.count == 1)
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/b: done"])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `fills the limit of a query anew when another user's writes are shown`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    let rooms = try world.query("rooms").ordered(by: ConiferDocument.FieldPath(unchecked: ["n"]))
    await world.listen(1, rooms)
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2), ("rooms/c", 3)], at: 1000)
    await world.waitUntilIdle()
    world.engine.unlisten(1)
    await world.listen(2, try rooms.limited(to: 2))
    try world.server.tell(4, [("rooms/a", 1), ("rooms/b", 2)], at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "2: a1 b2")
    _ = world.engine.write([Mutation(try DocumentPath("rooms/a"), .delete)], nil)
    try world.set("rooms/d", 9)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "2: b2 c3 cached")
    for (user, shown) in [("bob", "a1 b2"), ("ann", "b2 c3"), ("bob", "a1 b2")] {
      signIn.set(.user(user))
      world.engine.tokenDidChange()
      await world.waitUntilIdle()
      let told = world.told.take()
      #expect(told.last?.hasPrefix("2: \(shown)") == true, "\(user): \(told)")
      if user == "bob" {
        // Bob's own write is beyond the limit of ann's.
        try world.set("rooms/e", 0)
        await world.waitUntilIdle()
        #expect(world.told.take().last?.hasPrefix("2: e0 a1") == true)
        let writes = try await world.engine.pendingWrites(after: nil, limit: 9, rejectedOnly: false)
        world.engine.setNetwork(false) { _ in }
        await world.waitUntilIdle()
        for write in writes { try await world.engine.discard(write.id) }
        world.engine.setNetwork(true) { _ in }
        await world.waitUntilIdle()
        _ = world.told.take()
      }
    }
    await world.end()
  }

  /// What is tracked is everybody's.
  @Test(arguments: EngineStore.allCases)
  func `shows what a query with a filter gives to whoever is signed in`(store: EngineStore)
    async throws
  {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    let n = ConiferDocument.FieldPath(unchecked: ["n"])
    let query = try world.query("rooms").filtered(.field(n, .greaterThan, .integer(1)))
    for (id, user) in [(1, "ann"), (3, "bob")] as [(ListenerID, String)] {
      signIn.set(.user(user))
      world.engine.tokenDidChange()
      await world.listen(id, query)
      try world.server.tell(2, [("rooms/b", 2)], at: id == 1 ? 1000 : 2000)
      try world.set("rooms/\(user)", 3)
      await world.waitUntilIdle()
      let told = world.told.take()
      #expect(told.last == "\(id): b2 \(user)3 pending", "\(told)")
      world.engine.unlisten(id)
      await world.waitUntilIdle()
      await world.listen(id + 1, query)
      #expect(world.told.take().first == "\(id + 1): b2 \(user)3 cached pending")
      world.engine.unlisten(id + 1)
      await world.waitUntilIdle()
    }
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `keeps the token of each user's stream of writes`(store: EngineStore) async throws {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    for (time, user) in [(Int64(1), "ann"), (2, "bob")] {
      signIn.set(.user(user))
      world.engine.tokenDidChange()
      try world.set("rooms/\(user)", 1)
      await world.waitUntilIdle()
      // The server begins each stream with the same token.
      #expect(world.server.greetings.last == [] && world.server.sent.count == 1)
      if user == "ann" { try world.server.accept(at: time * 1000) }
      await world.waitUntilIdle()
    }
    await world.restart()
    #expect(world.server.greetings.last == [1] && world.server.sent.count == 1)
    await world.end()
  }

  @Test func `has writes wait until the provider says who is signed in, and asks it again`()
    async throws
  {
    let world = try EngineWorld(usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.failure)
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    try world.set("rooms/a", 1)
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take() == ["1:  cached"])
    #expect(!world.server.hasWatch && !world.server.hasWrites)
    signIn.set(.user("ann"))
    world.clock.advance(by: 5_000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 cached pending"])
    #expect(world.server.sent.count == 1 && world.server.hasWatch)
    await world.end()
  }

  /// The first question is one for the token of ann, who is signed out while the provider looks for it.
  @Test(arguments: ["a renewal", "a refusal", "a sign-in"], [false, true])
  func `counts no answer to a question from before the sign-in`(
    first: String, isSilent: Bool
  ) async throws {
    let world = try EngineWorld(usesTokens: true)
    let signIn = try #require(world.signIn)
    let expiry = world.clock.wallTime + 3_600_000
    signIn.set(.token(AuthToken("first", identity: "ann", expiry: expiry)))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    signIn.set(.never)
    switch first {
    case "a renewal":
      world.clock.advance(by: 3_540_000)
      _ = try await world.engine.lookup([DocumentPath("rooms/a")], TransactionUser())
    case "a refusal":
      await world.listen(1, try world.query("rooms"))
      world.server.breakWatch(.unauthenticated)
      await world.waitUntilIdle()
      world.clock.advance(by: 2_000)
    default: world.engine.tokenDidChange()
    }
    await world.waitUntilIdle()
    #expect(signIn.count == 3 && signIn.hangingCount == 1)
    _ = world.told.take()

    world.engine.tokenDidChange()
    let receipt = try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    #expect(signIn.hangingCount == 2)
    signIn.answerOldest(.token(AuthToken("second", identity: "ann", expiry: expiry)))
    await world.waitUntilIdle()
    if isSilent {
      world.clock.advance(by: 30_000)
    } else {
      signIn.answerOldest(.failure)
    }
    await world.waitUntilIdle()
    #expect(!world.told.take().contains { $0.contains("b2") } && !world.server.hasWrites)
    signIn.set(.user("bob"))
    world.clock.advance(by: 5_000)
    await world.waitUntilIdle()
    #expect(try await receipt.id?.identity == "bob")
    #expect(world.server.sent.count == 1 && world.server.tokens.last == "token of bob")
    await world.end()
  }

  @Test func `replaces a token that the server does not take`() async throws {
    let world = try EngineWorld(usesTokens: true)
    await world.listen(1, try world.query("rooms"))
    #expect(try #require(world.signIn).forcedCount == 0)
    world.server.breakWatch(.unauthenticated)
    await world.waitUntilIdle()
    world.clock.advance(by: 2_000)
    await world.waitUntilIdle()
    #expect(try #require(world.signIn).forcedCount == 1)
    #expect(world.server.hasWatch)
    await world.end()
  }

  @Test func `replaces a token that the server takes no longer without anybody's noticing`()
    async throws
  {
    let world = try EngineWorld(usesTokens: true)
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    world.clock.advance(by: 3_600_000)
    await world.waitUntilIdle()
    world.server.breakWatch(.unauthenticated)
    await world.waitUntilIdle()
    #expect(try #require(world.signIn).forcedCount == 1)
    #expect(world.server.hasWatch && world.told.take() == ["1: a1"])
    await world.end()
  }

  /// Ann signed in, and then the app was started anew; the provider does not say who it is.
  private func restarted(
    _ store: EngineStore, _ answer: EngineSignIn.Answer
  ) async throws -> EngineWorld {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    signIn.set(answer)
    await world.restart()
    return world
  }

  @Test(arguments: EngineStore.durable)
  func `begins as the user of the last run, whose writes are kept without a network`(
    store: EngineStore
  ) async throws {
    for answer in [EngineSignIn.Answer.failure, .never] {
      let world = try await restarted(store, answer)
      await world.listen(1, try world.query("rooms"))
      let receipt = try world.set("rooms/a", 1)
      await world.waitUntilIdle()
      #expect(world.told.take().last == "1: a1 cached pending")
      let id = try #require(try await receipt.id)
      #expect(id.identity == "ann")
      _ = try await receipt.durable
      await world.restart()
      await world.listen(2, try world.query("rooms"))
      #expect(world.told.take().last == "2: a1 cached pending")
      await world.end()
    }
  }

  @Test(arguments: EngineStore.durable)
  func `queues nothing as a user who may have left`(store: EngineStore) async throws {
    let world = try await restarted(store, .never)
    world.engine.tokenDidChange()
    // Nobody answers, and the app ends.
    await world.restart()
    let receipt = try world.set("rooms/a", 1)
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take() == [])
    try #require(world.signIn).set(.user("bob"))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    #expect(try await receipt.id?.identity == "bob")
    #expect(world.told.take() == ["1: a1 cached pending"])
    await world.end()
  }

  @Test func `ends a transaction that began as another user`() async throws {
    let world = try EngineWorld(usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    let path = try DocumentPath("rooms/a")
    let user = TransactionUser()
    _ = try await world.engine.lookup([path], user)
    _ = try await world.engine.lookup([path], user)
    signIn.set(.user("bob"))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    for _ in 0..<2 {
      do throws(FirestoreError) {
        try await world.engine.commit([Mutation(path, .delete)], user)
        Issue.record("Ann's writes were sent as Bob's.")
      } catch {
        #expect(error.code == .cancelled && error.message.hasPrefix("Another user"))
      }
    }
    _ = try await world.engine.lookup([path], TransactionUser())
    await world.end()
  }

  @Test func `asks nobody once its end has begun`() async throws {
    for answer in [EngineSignIn.Answer.failure, .never] {
      let world = try EngineWorld(usesTokens: true)
      let signIn = try #require(world.signIn)
      await world.waitUntilIdle()
      await world.end()
      let count = signIn.count
      signIn.set(answer)
      world.engine.tokenDidChange()
      world.clock.advance(by: 3_600_000)
      await world.waitUntilIdle()
      #expect(signIn.count == count)
      await #expect(throws: FirestoreError.self) {
        try await world.engine.pendingWrites(after: nil, limit: 1, rejectedOnly: false)
      }
    }
  }

  /// Accepts all that is sent, and gives what was sent, in order.
  private func acceptAll(_ world: EngineWorld) async throws -> [String] {
    let before = world.server.allSent.count
    for time in 1... {
      await world.waitUntilIdle()
      guard !world.server.sent.isEmpty else { break }
      try world.server.accept(at: Int64(time) * 1000)
    }
    return world.server.allSent[before...].flatMap { $0 }.map(\.path.id)
  }

  @Test(arguments: EngineStore.allCases)
  func `sends what waited to know the user once, in its order`(store: EngineStore) async throws {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    signIn.set(.never)
    world.engine.tokenDidChange()
    let names = (1...30).map { "\($0)" }
    for name in names.prefix(15) { try world.set("rooms/\(name)", 1) }
    await world.waitUntilIdle()
    // The provider fails, and is asked again: writes wait on behind the others.
    signIn.set(.failure)
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    // The first question does not count any longer.
    signIn.answerLate(.failure)
    for name in names.dropFirst(15) { try world.set("rooms/\(name)", 1) }
    await world.waitUntilIdle()
    #expect(world.server.allSent.isEmpty && world.told.take() == [])
    signIn.set(.user("ann"))
    world.clock.advance(by: 5_000)
    #expect(try await acceptAll(world) == names)
    #expect(world.told.take() == names.map { "rooms/\($0): done" })
    #expect(world.server.tokens.last == "token of ann")
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `sends writes again in their order once an expired token is replaced`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    let names = (1...12).map { "\($0)" }
    for name in names { try world.set("rooms/\(name)", 1) }
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 10)
    signIn.set(.failure)
    world.server.refuse(.unauthenticated)
    for _ in 0..<3 {
      world.clock.advance(by: 5_000)
      await world.waitUntilIdle()
    }
    #expect(signIn.forcedCount > 0 && !world.server.hasWrites && world.told.take() == [])
    try world.set("rooms/13", 1)
    signIn.set(.user("ann"))
    let greetings = world.server.greetings.count
    world.clock.advance(by: 60_000)
    #expect(try await acceptAll(world) == names + ["13"])
    // The stream goes on, so that the server knows what it has made.
    #expect(world.server.greetings.dropFirst(greetings) == [[1]])
    #expect(world.told.take() == (names + ["13"]).map { "rooms/\($0): done" })
    await world.end()
  }

  @Test func `keeps steps that wait in their order, however many they are`() {
    var gate = IdentityGate<Int>()
    func holdBack(_ step: Int, _ dependence: IdentityGate<Int>.Dependence) -> Bool {
      gate.holdBack(step, dependence)
    }
    #expect(!holdBack(0, .needsUser))
    gate.askingBegan()
    #expect(!holdBack(0, .followsWrites) && !holdBack(0, .none))
    for step in 1...20_000 {
      let isHeld = holdBack(step, step % 2 == 0 ? .followsWrites : .needsUser)
      #expect(isHeld)
    }
    let removed = gate.remove { $0 == 3 }
    #expect(removed == [3] && gate.waitingCount == 19_999)
    gate.askingFailed()
    let reads = gate.takeReady()
    #expect(reads == Array(stride(from: 2, through: 20_000, by: 2)))
    #expect(holdBack(20_001, .needsUser) && !holdBack(0, .followsWrites))
    gate.becameKnown()
    let writes = gate.takeReady()
    #expect(writes == [1] + Array(stride(from: 5, through: 20_001, by: 2)))
  }
}
