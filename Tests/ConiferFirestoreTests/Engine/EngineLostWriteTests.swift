import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore
@testable import ConiferStorage

/// Writes whose records are lost while the storage fails in another way, too.
@Suite struct `The engine of documents and lost writes on a failing storage` {
  private let store = MemoryStore()
  private let faults = StorageFaults()

  private func world() throws -> EngineWorld {
    try EngineWorld { [store, faults] configuration in
      configuration.storage = StorageConfiguration(
        name: "memory", location: nil, options: StorageOptions()
      ) { (options) throws(StoreError) in
        try MemoryBackend.open(store, name: "memory", options: options)
      }.failing(faults)
    }
  }

  /// Changes a byte of each queued write, and has the engine meet that.
  private func loseWrites(_ world: EngineWorld) async throws {
    var batch = Batch()
    let view = try store.view()
    for (key, bytes) in try view.entries(Spaces.queue, prefix: []) {
      var value = bytes
      value[value.count / 2] ^= 0x40
      batch.put(Spaces.queue, key, value)
    }
    view.close()
    _ = try store.apply(batch, .relaxed)
    #expect(
      try await world.engine.pendingWrites(after: nil, limit: 1, rejectedOnly: false).isEmpty)
    await world.waitUntilIdle()
  }

  private func retry(_ world: EngineWorld) async {
    for _ in 0..<3 {
      world.clock.advance(by: 2_000)
      await world.waitUntilIdle()
    }
  }

  @Test func `fails them once it can be read which ones they are`() async throws {
    let world = try world()
    world.engine.setNetwork(false) { _ in }
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    faults.fail(.readEntry)
    try await loseWrites(world)
    #expect(world.told.take() == [])
    faults.fail([])
    await retry(world)
    #expect(world.told.take() == ["rooms/a: dataLoss"])
    await world.end()
  }

  @Test func `ends one that the server has made though the disk is full, and goes on`()
    async throws
  {
    let world = try world()
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1)
    try await loseWrites(world)
    faults.refuse(try DocumentPath("rooms/a"), .full)
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/a: done"])
    // The disk is full for that alone: the network is used on.
    try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1)
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/b: done"])
    await world.end()
  }

  @Test func `keeps the answer to one that is not lost until the disk has room`() async throws {
    let world = try world()
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    faults.refuse(try DocumentPath("rooms/a"), .full)
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == [])
    faults.refuse(try DocumentPath("rooms/none"), .full)
    await retry(world)
    #expect(world.told.take() == ["rooms/a: done"])
    #expect(world.server.allSent.count == 1)
    await world.end()
  }
}
