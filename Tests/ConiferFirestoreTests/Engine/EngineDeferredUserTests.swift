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
    let receipt = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    #expect(world.server.sent.isEmpty)
    // No transaction of ann's is made as bob, either.
    let path = try DocumentPath("rooms/a")
    await #expect {
      _ = try await world.engine.lookup([path], TransactionUser())
    } throws: { ($0 as? FirestoreError)?.code == .unavailable }
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
}
