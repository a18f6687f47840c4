import ConiferDocument
import ConiferDocumentSync
import ConiferKeyValue
import ConiferLeafStore
import TestSupport
import Testing

@testable import ConiferFirestore
@testable import ConiferStorage

/// What a later version stored of the effect of waiting writes, which this version does not know.
@Suite struct `The engine of documents and a later version` {
  private let store = MemoryStore()

  private func world() throws -> EngineWorld {
    try EngineWorld(usesTokens: true) { [store] configuration in
      configuration.storage = StorageConfiguration(
        name: "memory", location: nil, options: StorageOptions()
      ) { (options) throws(StoreError) in
        try MemoryBackend.open(store, name: "memory", options: options)
      }
    }
  }

  private func become(_ user: String, _ world: EngineWorld) async throws {
    try #require(world.signIn).set(.user(user))
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
  }

  /// Has a later version store what waiting writes do to a document.
  private func change(_ path: String) throws {
    var batch = Batch()
    let view = try store.view()
    for (key, value) in try view.entries(Spaces.overlays, prefix: []) {
      var payload = try #require(Record.open(Spaces.overlays, key, value))
      guard payload.dropFirst().starts(with: Array(path.utf8)) else { continue }
      payload[1 + path.utf8.count] = 0x84
      batch.put(Spaces.overlays, key, Record.seal(Spaces.overlays, key, payload))
    }
    view.close()
    try #require(batch.edits.count == 1)
    _ = try store.apply(batch, .relaxed)
  }

  /// A world in which bob has writes that wait, two of them to a document of which a later version stored what they do, and
  /// ann is signed in.
  private func changed() async throws -> EngineWorld {
    let world = try world()
    world.engine.setNetwork(false) { _ in }
    try await become("bob", world)
    for (path, n) in [("rooms/b", 1), ("rooms/b", 2), ("halls/x", 3)] as [(String, Int64)] {
      try world.set(path, n)
    }
    await world.waitUntilIdle()
    try change("rooms/b")
    try await become("ann", world)
    return world
  }

  @Test func `keeps nobody from signing in, and ends the listeners that would show it`()
    async throws
  {
    let world = try await changed()
    try world.set("rooms/a", 4)
    await world.listen(1, try world.query("rooms"))
    await world.listen(2, try world.query("halls"))
    await world.listen(3, DocumentQuery(.group("halls"), in: EngineWorld.database))
    await world.listen(
      4, DocumentQuery(.document(try DocumentPath("rooms/a")), in: EngineWorld.database))
    #expect(
      world.told.take() == [
        "1: a4 cached pending", "2:  cached", "3:  cached", "4: a4 cached pending",
      ]
    )
    try await become("bob", world)
    #expect(await world.engine.inspect().user == "bob")
    #expect(
      world.told.take().sorted() == [
        "1: failedPrecondition", "2: x3 cached pending", "3: x3 cached pending", "4:  cached",
      ])
    // Nor does what nobody can be shown here matter to others.
    try await become("ann", world)
    #expect(world.told.take().sorted() == ["2:  cached", "3:  cached", "4: a4 cached pending"])
    await world.end()
  }

  @Test func `has the writes sent, and their answers end them`() async throws {
    let world = try await changed()
    try await become("bob", world)
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    for time in 1...3 {
      try world.server.accept(at: Int64(time) * 1000)
      await world.waitUntilIdle()
    }
    #expect(world.told.take() == ["rooms/b: done", "rooms/b: done", "halls/x: done"])
    #expect(world.server.allSent.count == 3 && world.server.hasWrites)
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take().first?.hasPrefix("1: b2 ") == true)
    await world.end()
  }
}
