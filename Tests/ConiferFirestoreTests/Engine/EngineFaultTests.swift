import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

@Suite struct `The engine of documents and its storage` {
  @Test func `that cannot be opened fails each call`() async throws {
    let world = try EngineWorld {
      $0.storage = StorageConfiguration(name: "broken", location: nil, options: StorageOptions()) {
        (_) throws(StoreError) in throw StoreError(.denied, "No.")
      }
    }
    await world.listen(1, try world.query("rooms"))
    let receipt = try world.set("rooms/a", 1)
    world.engine.get(try DocumentPath("rooms/a"), .cache) { [told = world.told] in
      if case .failure(let error) = $0 { told.add("\(error.code)") }
    }
    world.engine.waitForPendingWrites { [told = world.told] in told.add("\($0 != nil)") }
    await world.waitUntilIdle()
    #expect(
      world.told.take() == [
        "1: unavailable", "rooms/a: unavailable", "unavailable", "true",
      ])
    guard case .failed = try await receipt.outcome else {
      Issue.record("The write cannot have been queued.")
      return
    }
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `is owned by one engine at a time`(store: EngineStore) async throws {
    let world = try EngineWorld(store)
    await world.waitUntilIdle()
    let other = FirestoreEngine(world.configuration)
    let told = Gathered<String>()
    other.listen(1, try world.query("rooms"), ListenOptions()) { told.add(EngineWorld.text($0)) }
    await other.waitUntilIdle()
    #expect(told.take() == ["unavailable"])
    await #expect {
      try await world.configuration.wipe()
    } throws: { ($0 as? FirestoreError)?.code == .failedPrecondition }
    await world.end()
  }

  @Test func `refuses a write that makes a document too large, and that one alone`() async throws {
    let world = try EngineWorld()
    let big = String(repeating: "a", count: 700_000)
    for (field, n) in [("b", Int64(1)), ("c", 2)] {
      let write = try Mutation.merge(
        DocumentPath("rooms/a"), [(field, .value(.string(big))), ("n", .value(.integer(n)))],
        in: EngineWorld.database)
      _ = world.engine.write([write]) { [told = world.told] error in
        told.add("\(n): \(error.map { "\($0.code)" } ?? "")")
      }
    }
    try world.set("rooms/b", 1)
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take() == ["2: invalidArgument", "1: a1 b1 cached pending"])
    #expect(world.server.sent.count == 2)
    await world.end()
  }
}
