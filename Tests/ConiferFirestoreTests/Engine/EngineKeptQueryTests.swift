import ConiferDocument
import ConiferDocumentSync
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// Queries that are kept synced, and a storage that fails when the engine listens to them.
@Suite struct `The engine of documents and kept queries that its storage fails` {
  private let faults = StorageFaults()

  private func world(_ store: EngineStore = .memory) throws -> EngineWorld {
    try EngineWorld(store) { [faults] in $0.storage = $0.storage?.failing(faults) }
  }

  /// Lets the engine try again so often, and gives how long it waited before each time.
  private func retry(_ world: EngineWorld, times: Int) async -> [Int64?] {
    var delays: [Int64?] = []
    for _ in 0..<times {
      let moment = await world.engine.inspect().retry
      delays.append(moment.map { $0 - world.clock.now })
      if let moment { world.clock.advance(to: moment) }
      await world.waitUntilIdle()
    }
    return delays
  }

  @Test(arguments: EngineStore.allCases, [StorageUse.newQuery, .readQuery, .findQuery])
  func `listens once the storage works, and waits longer each time until then`(
    store: EngineStore, use: StorageUse
  ) async throws {
    let world = try world(store)
    await world.waitUntilIdle()
    faults.fail(use)
    let queries = try ["halls", "rooms"].map { try world.query($0) }
    for query in queries { world.engine.keepSynced(true, query) }
    await world.waitUntilIdle()
    #expect(world.server.targets.isEmpty)
    #expect(await retry(world, times: 4) == [1000, 1500, 2250, 3375])
    #expect(world.server.targets.isEmpty)
    faults.fail([])
    #expect(await retry(world, times: 2) == [5062, nil])
    #expect(Set(world.server.targets.values.map(\.target)) == Set(queries.map(\.target)))
    // The next failure is another one.
    faults.fail(use)
    world.engine.keepSynced(true, try world.query("yards"))
    await world.waitUntilIdle()
    #expect(await retry(world, times: 1) == [1000])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `uses the network for all others while a query can never be stored`(
    store: EngineStore
  ) async throws {
    let world = try world(store)
    await world.listen(1, try world.query("rooms"))
    faults.fail(.newQuery)
    world.engine.keepSynced(true, try world.query("halls"))
    await world.waitUntilIdle()
    for time in 1...10 {
      #expect(await retry(world, times: 1) != [nil])
      try world.server.tell(2, [("rooms/a", Int64(time))], at: Int64(time) * 1000)
      try world.set("yards/\(time)", 1)
      await world.waitUntilIdle()
      #expect(world.server.sent.count == 1)
      try world.server.accept(at: Int64(time) * 1000)
      await world.waitUntilIdle()
      #expect(world.told.take() == ["1: a\(time)", "yards/\(time): done"])
    }
    // Nobody wants it any more.
    world.engine.keepSynced(false, try world.query("halls"))
    await world.waitUntilIdle()
    #expect(await retry(world, times: 2).last == .some(nil))
    faults.fail([])
    world.clock.advance(by: 100_000)
    await world.waitUntilIdle()
    #expect(world.server.targets.keys.sorted() == [2])
    await world.end()
  }

  @Test func `tries nothing again that the storage will never take`() async throws {
    let world = try world()
    await world.waitUntilIdle()
    faults.fail(.readQuery, code: .newerFormat)
    world.engine.keepSynced(true, try world.query("rooms"))
    await world.waitUntilIdle()
    #expect(await world.engine.inspect().retry == nil)
    faults.fail([])
    world.clock.advance(by: 100_000)
    await world.waitUntilIdle()
    #expect(world.server.targets.isEmpty)
    // The app may ask once more.
    world.engine.keepSynced(true, try world.query("rooms"))
    await world.waitUntilIdle()
    #expect(world.server.targets.count == 1)
    await world.end()
  }

  /// Once what was kept cannot be read, and once it cannot be listened to.
  @Test(arguments: EngineStore.durable, [StorageUse.readNames, .readQuery])
  func `listens to what was kept in an earlier run once the storage works`(
    store: EngineStore, use: StorageUse
  ) async throws {
    let world = try world(store)
    let queries = try ["halls", "rooms", "yards"].map { try world.query($0) }
    for query in queries { world.engine.keepSynced(true, query) }
    await world.waitUntilIdle()
    await world.end()
    faults.fail(use)
    await world.restart()
    #expect(world.server.targets.isEmpty)
    #expect(await retry(world, times: 2) == [1000, 1500])
    faults.fail([])
    // What the app says meanwhile counts.
    world.engine.keepSynced(true, queries[0])
    world.engine.keepSynced(false, queries[1])
    await world.waitUntilIdle()
    #expect(world.server.targets.values.map(\.target) == [queries[0].target])
    #expect(await retry(world, times: 2) == [2250, nil])
    let kept = Set([queries[0], queries[2]].map(\.target))
    #expect(Set(world.server.targets.values.map(\.target)) == kept)
    // Each has one listener.
    for query in queries { world.engine.keepSynced(false, query) }
    await world.waitUntilIdle()
    #expect(world.server.targets.isEmpty)
    await world.end()
  }

  @Test func `tries nothing again once it has ended`() async throws {
    let world = try world()
    await world.waitUntilIdle()
    faults.fail(.readQuery)
    world.engine.keepSynced(true, try world.query("rooms"))
    await world.waitUntilIdle()
    await world.end()
    #expect(await world.engine.inspect().retry == nil)
  }
}
