import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// Another user signs in while nothing can be stored, so that the change waits.
@Suite(.timeLimit(.minutes(5))) struct `The engine of documents and a change of user that waits` {
  private let disk = DiskFaults()

  /// An engine as which ann is signed in.
  private func world(_ store: EngineStore) async throws -> EngineWorld {
    let world = try EngineWorld(store, usesTokens: true) { [disk] in
      $0.storage = $0.storage?.failing(disk)
    }
    try await signIn(world, "ann")
    return world
  }

  private func signIn(_ world: EngineWorld, _ name: String) async throws {
    try #require(world.signIn).set(.user(name))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
  }

  private func retry(_ world: EngineWorld) async {
    for _ in 0..<4 {
      world.clock.advance(by: 2_000)
      await world.waitUntilIdle()
    }
  }

  @Test(arguments: EngineStore.allCases)
  func `queues and sends nothing as the user between`(store: EngineStore) async throws {
    let world = try await world(store)
    disk.fail(DiskFaults.Chances(commits: 100))
    for name in ["bob", "ann", "ann"] { try await signIn(world, name) }
    disk.heal()
    // Bob is shown now, and ann a moment later.
    world.clock.advance(by: 1_000)
    await world.waitUntilIdle()
    world.engine.aggregate(try world.query("rooms"), [.count], .server) { [told = world.told] in
      if case .failure(let error) = $0 { told.add("counted: \(error.code)") }
    }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["counted: unavailable"])
    let receipt = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    #expect(world.server.sent.isEmpty)
    // No transaction of ann's is made as bob, either.
    let path = try DocumentPath("rooms/a")
    await #expect {
      _ = try await world.engine.lookup([path], TransactionUser())
    } throws: { ($0 as? FirestoreError)?.code == .unavailable }
    #expect(!world.server.tokens.contains("token of bob"))
    await retry(world)
    #expect(try await receipt.id?.identity == "ann")
    #expect(world.server.sent.count == 1 && world.server.tokens.last == "token of ann")
    #expect(await world.engine.inspect().user == "ann")
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `tells listeners and readers that they are offline`(store: EngineStore) async throws {
    let world = try await world(store)
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "1: a1")
    disk.fail(DiskFaults.Chances(commits: 100))
    try await signIn(world, "bob")
    #expect(world.told.take() == ["1: a1 cached"])
    await world.listen(2, try world.query("rooms/a/seats"))
    world.engine.get(try DocumentPath("rooms/a"), .default) { [told = world.told] _ in
      told.add("got")
    }
    await world.waitUntilIdle()
    let told = world.told.take()
    #expect(told.contains("2: unavailable") && told.contains("got"), "\(told)")
    disk.heal()
    await retry(world)
    #expect(world.server.hasWatch)
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `fails who asks the server for something`(store: EngineStore) async throws {
    let world = try await world(store)
    let path = try DocumentPath("rooms/a")
    disk.fail(DiskFaults.Chances(commits: 100))
    try await signIn(world, "bob")
    await #expect {
      _ = try await world.engine.lookup([path], TransactionUser())
    } throws: { ($0 as? FirestoreError)?.code == .unavailable }
    disk.heal()
    await retry(world)
    _ = try await world.engine.lookup([path], TransactionUser())
    #expect(world.server.tokens.last == "token of bob")
    await world.end()
  }

  /// The token's renewal tells of another user, though nobody had said that one signed in.
  @Test(arguments: EngineStore.allCases)
  func `queues nothing as the user before, when a renewal tells of another one`(
    store: EngineStore
  ) async throws {
    let faults = StorageFaults()
    let world = try EngineWorld(store, usesTokens: true) {
      $0.storage = $0.storage?.failing(faults)
    }
    let signIn = try #require(world.signIn)
    let expiry = world.clock.wallTime + 3_600_000
    signIn.set(.token(AuthToken("first", identity: "ann", expiry: expiry)))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    faults.fail(.metadata)
    signIn.set(.user("bob"))
    world.clock.advance(by: 3_590_000)
    let path = try DocumentPath("rooms/a")
    _ = try await world.engine.lookup([path], TransactionUser())
    await world.waitUntilIdle()
    let receipt = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    #expect(await world.engine.inspect().user == "ann" && world.server.sent.isEmpty)
    faults.fail([])
    await retry(world)
    #expect(try await receipt.id?.identity == "bob")
    #expect(world.server.sent.count == 1 && world.server.tokens.last == "token of bob")
    await world.end()
  }

  /// Bob's writes wait for the storage when somebody signs in again: ann, or bob once more.
  @Test(arguments: EngineStore.allCases, ["ann", "bob"])
  func `queues no write of the user between as one of the next user`(
    store: EngineStore, next: String
  ) async throws {
    let faults = StorageFaults()
    let world = try EngineWorld(store, usesTokens: true) {
      $0.storage = $0.storage?.failing(faults)
    }
    try await signIn(world, "ann")
    faults.fail(.metadata)
    try await signIn(world, "bob")
    let first = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    try #require(world.signIn).set(.never)
    world.engine.tokenDidChange()
    let second = try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    try #require(world.signIn).answerLate(.user(next))
    await world.waitUntilIdle()
    #expect(world.told.take() == (next == "bob" ? [] : ["rooms/a: cancelled"]))
    try #require(world.signIn).set(.user(next))
    faults.fail([])
    await retry(world)
    #expect(try await second.id?.identity == next)
    if next == "bob" { #expect(try await first.id?.identity == "bob") }
    #expect(world.server.sent.count == (next == "bob" ? 2 : 1))
    #expect(world.server.tokens.last == "token of \(next)")
    await world.end()
  }
}
