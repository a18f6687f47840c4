import ConiferDocument
import ConiferDocumentSync
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// What listeners hear of a write from the app's call until the server has accepted it and sent its result, in either order.
@Suite struct `The engine of documents and the timeline of a write` {
  /// A write that sets or changes a document, which is there already or not.
  enum Kind: CaseIterable {
    case set, merge, new
  }

  private static let time = ConiferDocument.Timestamp(unchecked: 7, 0)

  private func write(_ world: EngineWorld, _ kind: Kind) throws {
    let path = try DocumentPath(kind == .new ? "rooms/b" : "rooms/a")
    let data: [(String, WriteValue)] = [("n", .value(.integer(2))), ("at", .serverTimestamp)]
    let write =
      kind == .merge
      ? try Mutation.merge(path, data, in: EngineWorld.database)
      : try Mutation.set(path, data, in: EngineWorld.database)
    _ = world.engine.write([write]) { [told = world.told] _ in told.add("done") }
  }

  private func send(_ world: EngineWorld, _ kind: Kind, version: Int64) async throws {
    let path = try DocumentPath(kind == .new ? "rooms/b" : "rooms/a")
    world.server.say(
      .document(
        Document(
          path, .found(["n": 2, "at": .timestamp(Self.time)]),
          version: try ConiferDocument.Timestamp(microseconds: version)), matching: [2]))
    world.server.say(.targets(.noChange, []), at: version)
    await world.waitUntilIdle()
  }

  private func accept(_ world: EngineWorld, at micros: Int64) async throws {
    try world.server.accept(at: micros, transforms: [.timestamp(Self.time)])
    await world.waitUntilIdle()
  }

  /// The listener 1 hears of metadata, the listener 2 does not.
  private func begin(_ store: EngineStore, _ kind: Kind) async throws -> EngineWorld {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    await world.listen(2, try world.query("rooms"), ListenOptions())
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    _ = world.told.take()
    try write(world, kind)
    await world.waitUntilIdle()
    let shown = kind == .new ? "a1 b2 pending" : "a2 pending"
    #expect(world.told.take() == ["1: \(shown)", "2: \(shown)"])
    return world
  }

  @Test(arguments: EngineStore.allCases, Kind.allCases)
  func `says nothing when the server sends a result before it accepts the write`(
    store: EngineStore, kind: Kind
  ) async throws {
    let world = try await begin(store, kind)
    try await send(world, kind, version: 2000)
    #expect(world.told.take() == [])
    try await accept(world, at: 2000)
    let shown = kind == .new ? "a1 b2" : "a2"
    #expect(world.told.take() == ["done", "1: \(shown)", "2: \(shown)"])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases, Kind.allCases)
  func `says nothing when the server accepts a write before it sends the result`(
    store: EngineStore, kind: Kind
  ) async throws {
    let world = try await begin(store, kind)
    try await accept(world, at: 2000)
    #expect(world.told.take() == ["done"])
    try await send(world, kind, version: 2000)
    let shown = kind == .new ? "a1 b2" : "a2"
    #expect(world.told.take() == ["1: \(shown)", "2: \(shown)"])
    await world.end()
  }
}
