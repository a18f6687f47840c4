import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree
import ConiferWire
import Synchronization
import TestSupport
import Testing

@testable import ConiferFirestore
@testable import ConiferStorage

/// Records that change under an engine that runs, and writes that it cannot read.
@Suite struct `The engine of documents and damage` {
  private final class Opened: Sendable {
    let store = MemoryStore()
    let backend = Mutex<(any StorageBackend)?>(nil)
  }

  private let opened = Opened()

  private func world(
    _ change: (inout FirestoreConfiguration) -> Void = { _ in }
  ) throws -> EngineWorld {
    try EngineWorld { [opened] configuration in
      configuration.storage = StorageConfiguration(
        name: "memory", location: nil, options: StorageOptions()
      ) { (options) throws(StoreError) in
        let backend = try MemoryBackend.open(opened.store, name: "memory", options: options)
        opened.backend.withLock { $0 = backend }
        return backend
      }
      change(&configuration)
    }
  }

  /// Changes a byte of each record of some spaces.
  private func damage(_ spaces: Space...) throws {
    var batch = Batch()
    let view = try opened.store.view()
    for space in spaces {
      for (key, bytes) in try view.entries(space, prefix: []) {
        var value = bytes
        value[value.count / 2] ^= 0x40
        batch.put(space, key, value)
      }
    }
    view.close()
    _ = try opened.store.apply(batch, .relaxed)
  }

  /// Removes the records of tracked queries from a number on.
  private func removeQueries(from number: UInt8) throws {
    var batch = Batch()
    let view = try opened.store.view()
    for (key, _) in try view.entries(Spaces.queries, prefix: []) where key.count == 12 {
      if let last = key.last, last >= number { batch.delete(Spaces.queries, key) }
    }
    view.close()
    _ = try opened.store.apply(batch, .relaxed)
  }

  @Test func `asks the server anew for what damage took while somebody listened`() async throws {
    let world = try world()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2)], at: 1000)
    await world.waitUntilIdle()
    _ = world.told.take()
    try damage(Spaces.runs, Spaces.deltas)
    try world.server.tell("rooms/a", 3, to: [2], version: 2000)
    world.server.say(.targets(.noChange, [2], resumeToken: Array("t2000".utf8)))
    world.server.say(.targets(.noChange, []), at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "1: a3 b2 cached")
    world.engine.unlisten(1)
    await world.listen(2, try world.query("rooms"))
    let target = try #require(world.server.targets[2])
    #expect(target.resumeToken.isEmpty && target.expectedCount == nil)
    _ = world.told.take()
    for _ in 0..<2 {
      world.server.say(.targets(.removed, [2]))
      world.server.say(.targets(.added, [2]))
    }
    try world.server.tell("rooms/b", 2, to: [2], version: 1000)
    try world.server.tell("rooms/a", 3, to: [2], version: 2000)
    world.server.say(.targets(.current, [2], resumeToken: Array("t3000".utf8)))
    world.server.say(.targets(.noChange, []), at: 3000)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "2: a3 b2")
    await world.end()
  }

  /// Three listeners begin together. The first one meets damage, which has also taken the queries that were stored for the others.
  @Test func `tracks queries anew that damage takes before their listeners begin`() async throws {
    let faults = StorageFaults()
    let world = try world { $0.storage = $0.storage?.failing(faults) }
    await world.listen(9, try world.query("old"))
    try world.server.tell(2, [("old/a", 1)], at: 1000)
    await world.waitUntilIdle()
    world.engine.unlisten(9)
    await world.waitUntilIdle()
    _ = world.told.take()
    faults.doBehindCommits { [self] edits in
      let queries = edits.count { if case .saveQuery = $0 { true } else { false } }
      guard queries == 2 else { return }
      faults.doBehindCommits { _ in }
      #expect(throws: Never.self) {
        try damage(Spaces.runs, Spaces.deltas)
        try removeQueries(from: 2)
      }
    }
    try await world.listenTogether(["old", "halls", "rooms"])
    await world.waitUntilIdle()
    let targets = world.server.targets
    #expect(targets.count == 3)
    for (id, target) in targets.sorted(by: { $0.key < $1.key }) {
      guard case .collection(let collection) = target.target.source else { continue }
      // The first one is asked for anew.
      for answer in [WatchChange.Event.added, .removed] { world.server.say(.targets(answer, [id])) }
      try world.server.tell(id, [("\(collection)/b", 5)], at: 1000 + Int64(id))
    }
    await world.waitUntilIdle()
    let told = world.told.take()
    #expect((0..<3).allSatisfy { told.contains("\($0): b5") }, "\(told)")
    // All are tracked, with what the server said of them.
    for target in targets.values.map(\.target) {
      let found = await world.engine.ask { loop in
        Result { () throws(StoreError) in try loop.listening.targets.find(target) }
      }
      #expect(try found.get()?.record.token.isEmpty == false)
    }
    await world.end()
  }

  @Test(arguments: [true, false])
  func `tells what became of a write that was set aside while it was on its way`(
    isAccepted: Bool
  ) async throws {
    let world = try world()
    try world.set("rooms/a", 1)
    world.engine.waitForPendingWrites { [told = world.told] in told.add("waited \($0 == nil)") }
    await world.waitUntilIdle()
    try damage(Spaces.queue)
    if isAccepted { try world.server.accept(at: 1000) } else { world.server.refuse(.notFound) }
    await world.waitUntilIdle()
    let end = isAccepted ? "done" : "dataLoss"
    #expect(world.told.take().sorted() == ["rooms/a: \(end)", "waited true"])
    await world.end()
  }

  @Test func `fails a write that was set aside before it was sent`() async throws {
    let world = try world()
    world.engine.setNetwork(false) { _ in }
    let receipt = try world.set("rooms/a", 1)
    world.engine.waitForPendingWrites { [told = world.told] in told.add("waited \($0 == nil)") }
    await world.waitUntilIdle()
    try damage(Spaces.queue)
    #expect(
      try await world.engine.pendingWrites(after: nil, limit: 1, rejectedOnly: false).isEmpty)
    await world.waitUntilIdle()
    #expect(world.told.take().sorted() == ["rooms/a: dataLoss", "waited true"])
    guard case .failed(let error) = try await receipt.outcome else {
      Issue.record("The write was not lost.")
      return
    }
    #expect(error.code == .storageDamaged)
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    #expect(world.server.allSent.isEmpty)
    await world.end()
  }

  /// Has the engine meet what was damaged in its queue.
  private func meetDamage(_ world: EngineWorld) async throws {
    try damage(Spaces.queue)
    #expect(
      try await world.engine.pendingWrites(after: nil, limit: 1, rejectedOnly: false).isEmpty)
    await world.waitUntilIdle()
  }

  /// Makes a write, and has the words gathered with which it fails.
  private func delete(_ path: String, _ world: EngineWorld) throws -> WriteReceipt {
    world.engine.write([Mutation(try DocumentPath(path), .delete)]) { [told = world.told] error in
      told.add(error?.message ?? "done")
    }
  }

  @Test func `ends a write whose record was lost on its way when the network is left`()
    async throws
  {
    let world = try world()
    let receipt = try delete("rooms/a", world)
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1)
    try await meetDamage(world)
    #expect(world.told.take() == [])
    world.engine.setNetwork(false) { _ in }
    await world.waitUntilIdle()
    let words = world.told.take()
    #expect(words.count == 1 && words.first?.contains("Nobody knows whether the server") == true)
    guard !words.isEmpty, case .failed(let error) = try await receipt.outcome else {
      Issue.record("The receipt never ends.")
      return await world.end()
    }
    #expect(error.code == .storageDamaged)
    await world.end()
  }

  @Test(arguments: [true, false])
  func `says of a lost write that it was not sent only when that is so`(isSent: Bool) async throws {
    let world = try world()
    if !isSent { world.engine.setNetwork(false) { _ in } }
    let receipt = try delete("rooms/a", world)
    await world.waitUntilIdle()
    if isSent { world.engine.setNetwork(false) { _ in } }
    await world.waitUntilIdle()
    #expect(world.server.allSent.count == (isSent ? 1 : 0))
    try await meetDamage(world)
    let words = world.told.take()
    #expect(words.first?.contains("was not sent") == !isSent)
    #expect(words.first?.contains("Nobody knows") == isSent)
    _ = receipt
    await world.end()
  }

  @Test func `hears at once of damage that nobody met who uses the database`() async throws {
    let world = try world()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2)], at: 1000)
    await world.waitUntilIdle()
    _ = world.told.take()
    try damage(Spaces.runs, Spaces.deltas)
    let backend = try #require(opened.backend.withLock { $0 } as? any DocumentBackend)
    let tree = try await backend.tree(named: "\(EngineWorld.database)", order: .documents)
    _ = try? backend.readDocuments { (view) throws(StoreError) in
      try view.document(tree, try path("rooms/a"))
    }
    await world.waitUntilIdle()
    #expect(world.told.take().last?.hasSuffix("cached") == true)
    await world.end()
  }

  private func path(_ text: String) throws(StoreError) -> DocumentPath {
    do { return try DocumentPath(text) } catch { throw StoreError(.invalid, "\(error)") }
  }

  @Test func `keeps a query from eviction that was just being evicted when it was saved anew`()
    async throws
  {
    let faults = StorageFaults()
    let world = try EngineWorld { [opened] configuration in
      configuration.storage = StorageConfiguration(
        name: "memory", location: nil, options: StorageOptions()
      ) { (options) throws(StoreError) in
        let backend = try MemoryBackend.open(opened.store, name: "memory", options: options)
        opened.backend.withLock { $0 = backend }
        return backend
      }.failing(faults)
    }
    let query = try world.query("rooms")
    await world.listen(1, query)
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    let backend = try #require(opened.backend.withLock { $0 })
    let tree = try await backend.tree(named: "\(EngineWorld.database)", order: .documents)
    let tracked = TrackedQuery(Lane(tree: tree), query.target)
    func stored() throws -> QueryID? {
      try backend.read { (view) throws(StoreError) in
        try view.trackedQuery(tree, tracked.path, tracked.parameters)?.id
      }
    }
    let first = try #require(try stored())
    // The record is lost, and somebody has saved the query anew before the engine hears of it.
    faults.failOnce(.activation)
    backend.observeIncidents(nil)
    try damage(Spaces.queries)
    #expect(try await backend.commit([.saveQuery(tracked)]).queries != [first])
    try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    try await world.engine.collectGarbage(downTo: 0)
    #expect(try stored() != nil)
    await world.end()
  }

  @Test func `lists and discards writes of a later version, and waits for none of them`()
    async throws
  {
    let world = try world()
    await world.waitUntilIdle()
    let backend = try #require(opened.backend.withLock { $0 })
    let tree = try await backend.tree(named: "\(EngineWorld.database)", order: .documents)
    let foreign = WritePayload(
      kind: WritePayload.Kind(rawValue: 9), path: "k2", touches: ["k2"], bytes: [1, 2, 3])
    _ = try await backend.commit(
      [StorageEdit](repeating: .enqueue(Lane(tree: tree), foreign), count: 12), .relaxed)
    func wait(_ name: String) {
      world.engine.waitForPendingWrites { [told = world.told] in
        told.add("\(name) waited \($0 == nil)")
      }
    }
    wait("first")
    try world.set("rooms/a", 1)
    wait("second")
    await world.waitUntilIdle()
    #expect(world.told.take() == ["first waited true"])
    #expect(world.server.sent.count == 1)
    let all = try await world.engine.pendingWrites(after: nil, limit: 100, rejectedOnly: false)
    #expect(all.map(\.batch.mutations.count) == [Int](repeating: 0, count: 12) + [1])
    let page = try await world.engine.pendingWrites(after: nil, limit: 5, rejectedOnly: false)
    #expect(page.map(\.id) == all.prefix(5).map(\.id))
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/a: done", "second waited true"])
    for write in all.prefix(12) { try await world.engine.discard(write.id) }
    #expect(
      try await world.engine.pendingWrites(after: nil, limit: 1, rejectedOnly: false).isEmpty)
    await world.end()
  }
}
