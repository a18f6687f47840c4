import ConiferDocument
import ConiferDocumentSync
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// As of when snapshots say that the server told what they show.
@Suite struct `The engine of documents and the server's time` {
  private static let second: Int64 = 1_000_000
  private let times = Gathered<String>()

  private static func text(_ event: ListenEvent) -> String {
    "\(event.knowledge.readTime.seconds)\(event.snapshot.isFromCache ? " cached" : "")"
  }

  private func listen(
    _ world: EngineWorld, _ query: DocumentQuery,
    _ options: ListenOptions = ListenOptions(includesMetadataChanges: true)
  ) async {
    world.engine.listen(1, query, options) { [times] result in
      if case .success(let event) = result { times.add(Self.text(event)) }
    }
    await world.waitUntilIdle()
  }

  private func say(_ world: EngineWorld, at seconds: Int64) async {
    world.server.say(.targets(.noChange, []), at: seconds * Self.second)
    await world.waitUntilIdle()
  }

  /// The server gives a token at second 1, and none with what it says at second 2.
  private func told(_ store: EngineStore) async throws -> EngineWorld {
    let world = try EngineWorld(store)
    await listen(world, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 1)], at: Self.second)
    await world.waitUntilIdle()
    try world.server.tell("rooms/a", 2, to: [2], version: 2 * Self.second)
    await say(world, at: 2)
    #expect(times.take() == ["1", "2"])
    return world
  }

  @Test(arguments: EngineStore.allCases)
  func `does not go back for who listens when the stream ends`(store: EngineStore) async throws {
    let world = try await told(store)
    // A moment at which nothing has changed, and then a write.
    await say(world, at: 3)
    try world.set("rooms/a", 3)
    await world.waitUntilIdle()
    #expect(times.take() == ["3"])
    world.engine.setNetwork(false) { _ in }
    await world.waitUntilIdle()
    #expect(times.take() == ["3 cached"])
    try world.set("rooms/a", 4)
    await world.waitUntilIdle()
    #expect(times.take() == ["3 cached"])
    // Who begins to listen now, or reads once, is told the same.
    world.engine.listen(2, try world.query("rooms"), ListenOptions(source: .cache)) {
      [times] result in
      if case .success(let event) = result { times.add("2: \(Self.text(event))") }
    }
    world.engine.get(try world.query("rooms"), .cache) { [times] result in
      if case .success(let event) = result { times.add("got: \(Self.text(event))") }
    }
    await world.waitUntilIdle()
    #expect(times.take() == ["2: 3 cached", "got: 3 cached"])
    await world.end()
  }

  /// The server has nothing new to say of the first, and nothing at all of the other.
  @Test(arguments: EngineStore.allCases)
  func `is that of the answer when a document is read once`(store: EngineStore) async throws {
    let world = try EngineWorld(store)
    func get(_ path: String, found isFound: Bool, at seconds: Int64) async throws {
      let document = try DocumentPath(path)
      world.engine.get(document, .server) { [times] result in
        guard case .success(let got) = result else { return times.add("failed") }
        times.add("\(got.document.fields == nil ? "missing" : "found") \(got.confirmed.seconds)")
      }
      await world.waitUntilIdle()
      let target = try #require(world.server.targets.keys.first)
      let documents: [(String, Int64)] = isFound ? [(path, Int64(1))] : []
      try world.server.tell(target, documents, at: seconds * Self.second)
      await world.waitUntilIdle()
    }
    try await get("rooms/a", found: true, at: 1)
    try await get("rooms/a", found: false, at: 2)
    try await get("rooms/b", found: false, at: 3)
    #expect(times.take() == ["found 1", "found 2", "missing 3"])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `does not go back when documents turn out to be missing`(store: EngineStore) async throws {
    let world = try await told(store)
    world.server.say(.filter(2, count: 1))
    await say(world, at: 3)
    #expect(times.take() == ["2 cached"])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `does not go back when the store loses what it had`(store: EngineStore) async throws {
    let world = try await told(store)
    await world.engine.ask { $0.listening.lost() }
    await world.waitUntilIdle()
    #expect(times.take() == ["2 cached"])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `goes back with the server's own`(store: EngineStore) async throws {
    let world = try EngineWorld(store)
    await listen(world, try world.query("rooms"))
    let late: Int64 = 10_000_000
    try world.server.tell(2, [("rooms/a", 1)], at: late * Self.second)
    await world.waitUntilIdle()
    #expect(times.take() == ["\(late)"])
    await say(world, at: 5)
    #expect(times.take() == ["0 cached"])
    world.server.say(.targets(.removed, [2]))
    try world.server.tell(2, [("rooms/a", 1)], at: 6 * Self.second)
    await world.waitUntilIdle()
    #expect(times.take() == ["6"])
    await world.end()
  }
}
