import ConiferDocument
import ConiferDocumentSync
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// What listeners show of an accepted write whose result the server does not send them.
@Suite struct `The engine of documents and results that are not sent` {
  /// A listener of the first two rooms, which are `a5` and `b6` on the server, and a room `c` of which the client knows
  /// nothing and that it adds one to.
  private func world(_ store: EngineStore) async throws -> (EngineWorld, TargetID) {
    let world = try EngineWorld(store)
    let n = try ConiferDocument.FieldPath(["n"])
    await world.listen(1, try world.query("rooms").ordered(by: n).limited(to: 2))
    let id = try #require(world.server.targets.keys.first)
    try world.server.tell(id, [("rooms/a", 5), ("rooms/b", 6)], at: 1000)
    await world.waitUntilIdle()
    try await addToRoom(world)
    #expect(world.told.take().suffix(2) == ["1: a5 b6", "1: c1 a5 pending"])
    return (world, id)
  }

  /// A listener of all rooms, of which the server has none, and a room `c` that the client adds one to.
  private func emptyWorld(_ store: EngineStore) async throws -> (EngineWorld, TargetID) {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    let id = try #require(world.server.targets.keys.first)
    try world.server.tell(id, [], at: 1000)
    await world.waitUntilIdle()
    try await addToRoom(world)
    return (world, id)
  }

  private func addToRoom(_ world: EngineWorld) async throws {
    let write = try Mutation.merge(
      DocumentPath("rooms/c"), [("n", .transform(.increment(.integer(1))))],
      in: EngineWorld.database)
    _ = world.engine.write([write], nil)
    await world.waitUntilIdle()
  }

  @Test(arguments: EngineStore.allCases)
  func `shows no accepted write any more that ends beyond a limit`(store: EngineStore) async throws
  {
    let (world, _) = try await world(store)
    // The server shows the room neither before nor after, and tells nothing of it.
    try world.server.accept(at: 2000, transforms: [.integer(9)])
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a5 b6"])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `shows no accepted write any more that others push beyond a limit`(
    store: EngineStore
  ) async throws {
    let (world, id) = try await world(store)
    try world.server.accept(at: 2000, transforms: [.integer(4)])
    await world.waitUntilIdle()
    #expect(world.told.take() == [], "the server would send it")
    for (path, n) in [("rooms/d", 2), ("rooms/e", 3)] as [(String, Int64)] {
      try world.server.tell(path, n, to: [id], version: 3000)
    }
    for path in ["rooms/a", "rooms/b"] { world.server.say(.left(try DocumentPath(path), [id])) }
    world.server.say(.targets(.noChange, [], resumeToken: [3]), at: 3000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: d2 e3"])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases, [true, false])
  func `asks for an accepted write that the server has passed over`(
    store: EngineStore, isGuessRight: Bool
  ) async throws {
    let (world, id) = try await emptyWorld(store)
    #expect(world.told.take().suffix(2) == ["1: ", "1: c1 pending"])
    try world.server.accept(at: 2000, transforms: [.integer(isGuessRight ? 1 : 7)])
    await world.waitUntilIdle()
    #expect(world.told.take() == [], "the server would send it")
    // Somebody removed the room before the server told of it.
    world.server.say(.targets(.noChange, [], resumeToken: [3]), at: 3000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: c\(isGuessRight ? 1 : 7) cached"])
    try await expectRemoval(world, id)
  }

  /// The room of limbo is gone.
  private func expectRemoval(_ world: EngineWorld, _ id: TargetID) async throws {
    let limbo = try #require(world.server.targets.keys.first { $0 != id })
    try world.server.tell(limbo, [], at: 4000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: "])
    await world.end()
  }

  /// The answer comes by a stream of its own, which may be slower.
  @Test(arguments: EngineStore.allCases)
  func `asks for a write that is accepted after the server has passed over it`(
    store: EngineStore
  ) async throws {
    let (world, id) = try await emptyWorld(store)
    world.server.say(.targets(.noChange, [], resumeToken: [3]), at: 3000)
    await world.waitUntilIdle()
    #expect(world.told.take().suffix(1) == ["1: c1 pending"])
    try world.server.accept(at: 2000, transforms: [.integer(7)])
    await world.waitUntilIdle()
    // The specification's cases have results that are older than the last moment, and are sent later.
    #expect(world.told.take() == [])
    world.server.say(.targets(.noChange, [], resumeToken: [4]), at: 3100)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: c7 cached"])
    try await expectRemoval(world, id)
  }

  @Test(arguments: EngineStore.allCases)
  func `waits for a result whose target the server has not answered on a new stream`(
    store: EngineStore
  ) async throws {
    let (world, id) = try await emptyWorld(store)
    try world.server.accept(at: 2000, transforms: [.integer(7)])
    await world.waitUntilIdle()
    #expect(world.told.take().suffix(1) == ["1: c1 pending"])
    world.server.breakWatch()
    await world.waitUntilIdle()
    world.clock.advance(by: 3_000)
    await world.waitUntilIdle()
    #expect(world.server.hasWatch && world.told.take() == [])
    // Of another target, or of none.
    world.server.say(.targets(.noChange, [], resumeToken: [3]), at: 3000)
    await world.waitUntilIdle()
    #expect(world.told.take() == [])
    try world.server.tell(id, [("rooms/c", 7)], at: 3500)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: c7"])
    await world.end()
  }
}
