import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// What the engine does when a commit or a read fails once.
@Suite struct `The engine of documents after a failure of its storage` {
  private let faults = StorageFaults()

  private func world(_ store: EngineStore = .memory) throws -> EngineWorld {
    try EngineWorld(store) { [faults] in $0.storage = $0.storage?.failing(faults) }
  }

  /// Lets the engine try again.
  private func retry(_ world: EngineWorld) async {
    for _ in 0..<3 {
      world.clock.advance(by: 2_000)
      await world.waitUntilIdle()
    }
  }

  @Test(arguments: EngineStore.allCases)
  func `discards no write that the server has answered`(store: EngineStore) async throws {
    let world = try world(store)
    let receipt = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    let id = try #require(try await receipt.id)
    faults.fail([.acknowledgeBatch])
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    faults.fail([])
    do throws(FirestoreError) {
      try await world.engine.discard(id)
      Issue.record("The server has made what the app gave up.")
    } catch {
      #expect(error.code == .failedPrecondition)
    }
    await retry(world)
    #expect(world.told.take() == ["rooms/a: done"])
    #expect(try await world.engine.outcome(of: id) == .acknowledged)
    #expect(world.server.allSent.count == 1)
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `shows a write as answered whose commit was made and reported as failed`(
    store: EngineStore
  ) async throws {
    let disk = DiskFaults()
    let world = try EngineWorld(store) { $0.storage = $0.storage?.failing(disk) }
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    // It changes nothing, so that the server tells no more of the document.
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "1: a1 pending")
    disk.fail(DiskFaults.Chances(commits: 100, made: 100))
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    disk.heal()
    await retry(world)
    let told = world.told.take()
    let shown = told.last { $0.hasPrefix("1:") }
    #expect(told.contains("rooms/a: done") && shown.map { "\($0) " }?.hasPrefix("1: a1 ") == true)
    #expect(shown?.hasSuffix("pending") == false)
    #expect(world.server.allSent.count == 1)
    await world.end()
  }

  /// Once with a commit that is made and reported as failed, and once with reads that fail behind it.
  @Test(arguments: EngineStore.allCases)
  func `goes on after a refusal whose commit was made and reported as failed`(
    store: EngineStore
  ) async throws {
    for endsReads in [false, true] {
      let disk = DiskFaults()
      let world = try EngineWorld(store) { $0.storage = $0.storage?.failing(disk) }
      await world.listen(1, try world.query("rooms"))
      try world.server.tell(2, [("rooms/a", 1)], at: 1000)
      let receipt = try world.set("rooms/b", 2)
      await world.waitUntilIdle()
      #expect(world.told.take().last == "1: a1 b2 pending")
      let id = try #require(try await receipt.id)
      disk.fail(DiskFaults.Chances(commits: 100, made: 100, endsReads: endsReads))
      world.server.refuse(.permissionDenied)
      await world.waitUntilIdle()
      disk.heal()
      await retry(world)
      world.clock.advance(by: 60_000)
      await world.waitUntilIdle()
      let told = world.told.take()
      #expect(told.count { $0 == "rooms/b: permissionDenied" } == 1, "\(told)")
      #expect(told.last { $0.hasPrefix("1:") }?.hasPrefix("1: a1") == true, "\(told)")
      #expect(await world.engine.inspect().retry == nil)
      // The network is used again, and nothing that was refused is sent once more.
      try world.server.tell(2, [("rooms/a", 3)], at: 2000)
      try world.set("rooms/c", 4)
      await world.waitUntilIdle()
      #expect(world.told.take().last == "1: a3 c4 pending")
      #expect(world.server.sent.map { $0.map(\.path.id) } == [["c"]])
      let writes = try await world.engine.pendingWrites(after: nil, limit: 9, rejectedOnly: true)
      #expect(writes.map(\.attempts) == [1])
      try await world.engine.discard(id)
      await world.end()
    }
  }

  @Test(arguments: EngineStore.allCases)
  func `neither retries nor discards a refused write whose refusal it could not store`(
    store: EngineStore
  ) async throws {
    let disk = DiskFaults()
    let world = try EngineWorld(store) { $0.storage = $0.storage?.failing(disk) }
    let id = try #require(try await world.set("rooms/a", 1).id)
    await world.waitUntilIdle()
    disk.fail(DiskFaults.Chances(commits: 100, made: 100))
    world.server.refuse(.permissionDenied)
    await world.waitUntilIdle()
    disk.heal()
    // The store has the refusal, and nobody knows that yet.
    for change in [FirestoreEngine.retry, FirestoreEngine.discard] {
      let error = await #expect(throws: FirestoreError.self) { try await change(world.engine)(id) }
      #expect(error?.code == .failedPrecondition)
    }
    await retry(world)
    #expect(world.told.take() == ["rooms/a: permissionDenied"])
    try await world.engine.retry(id)
    world.clock.advance(by: 60_000)
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1)
    await world.end()
  }

  /// What the server makes of a document may be unknown here, or be refused by the store for good.
  @Test(arguments: EngineStore.allCases, [true, false])
  func `ends a write though the store cannot take what the server made of its document`(
    store: EngineStore, isLater: Bool
  ) async throws {
    let world = try world(store)
    for name in ["a", "b"] { try world.set("rooms/\(name)", 1) }
    await world.waitUntilIdle()
    let path = try DocumentPath("rooms/a")
    if isLater { faults.setLater(path) } else { faults.refuse(path, .tooLarge) }
    for time: Int64 in 1...2 {
      try world.server.accept(at: time * 1000)
      await world.waitUntilIdle()
    }
    #expect(world.told.take() == ["rooms/a: done", "rooms/b: done"])
    #expect(await world.engine.inspect().retry == nil)
    let waiting = try await world.engine.pendingWrites(after: nil, limit: 9, rejectedOnly: false)
    #expect(waiting.isEmpty)
    await world.end()
  }

  @Test(arguments: EngineStore.durable, [true, false])
  func `tells an answer that the store refuses for good, and a later run sends the write again`(
    store: EngineStore, isAccepted: Bool
  ) async throws {
    let world = try world(store)
    for name in ["a", "b"] { try world.set("rooms/\(name)", 1) }
    await world.waitUntilIdle()
    faults.fail(isAccepted ? .acknowledgement : .rejection, code: .invalid)
    if isAccepted {
      try world.server.accept(at: 1000)
    } else {
      world.server.refuse(.permissionDenied)
    }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/a: \(isAccepted ? "done" : "permissionDenied")"])
    #expect(await world.engine.inspect().retry == nil)
    faults.fail([])
    await retry(world)
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/b: done"])
    await world.restart()
    #expect(world.server.allSent.map { $0.map(\.path.id) }.last == ["a"])
    await world.end()
  }

  @Test func `sends nothing while the token of its stream may not survive a loss of power`()
    async throws
  {
    let world = try world(.log)
    world.engine.setNetwork(false) { _ in }
    let receipt = try world.set("rooms/a", 1)
    #expect(try await receipt.durable == .power)
    faults.fail(.sync)
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    #expect(world.server.greetings == [[]] && world.server.allSent.isEmpty)
    faults.fail([])
    await retry(world)
    #expect(world.server.greetings.count == 2 && world.server.sent.count == 1)
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/a: done"])
    await world.end()
  }

  @Test func `ends no listener while nobody can say whether damage was found`() async throws {
    let world = try world()
    await world.listen(1, try world.query("rooms"))
    _ = world.told.take()
    faults.refuse(try DocumentPath("rooms/a"), .invalid)
    faults.fail(.readIncidents)
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(!world.told.take().contains("1: internal"))
    // It was damage, and is mended now.
    faults.refuse(try DocumentPath("rooms/none"), .invalid)
    faults.fail([])
    await retry(world)
    try world.server.tell(2, [("rooms/a", 1)], at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "1: a1")
    await world.end()
  }

  @Test func `says that nobody knows whether a discarded write was made that was sent`()
    async throws
  {
    let world = try world()
    let words = Gathered<Bool>()
    func write(_ path: String) throws -> WriteReceipt {
      world.engine.write([Mutation(try DocumentPath(path), .delete)]) { [words] error in
        words.add(error?.message.contains("nobody knows") ?? false)
      }
    }
    var receipts = [try write("rooms/a")]
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1)
    world.engine.setNetwork(false) { _ in }
    receipts.append(try write("rooms/b"))
    await world.waitUntilIdle()
    for receipt in receipts {
      try await world.engine.discard(try #require(try await receipt.id))
    }
    await world.waitUntilIdle()
    #expect(words.take() == [true, false])
    await world.end()
  }

  @Test func `tells who waits for writes, though the queue could not be read once`() async throws {
    let world = try world()
    try world.set("rooms/a", 1)
    world.engine.waitForPendingWrites { [told = world.told] in told.add("waited \($0 == nil)") }
    await world.waitUntilIdle()
    faults.failOnce(.readTotals)
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    await retry(world)
    #expect(world.told.take() == ["rooms/a: done", "waited true"])
    await world.end()
  }

  @Test func `queues the writes beside one whose document cannot be read`() async throws {
    let world = try world()
    faults.failOnce(.readDocument)
    var receipts: [WriteReceipt] = []
    try await world.together { receipts = try (1...3).map { try world.set("rooms/\($0)", 1) } }
    await world.waitUntilIdle()
    for receipt in receipts { #expect(try await receipt.id != nil) }
    #expect(world.server.sent.count == 3)
    await world.end()
  }

  @Test func `fills a limit once its query can be read`() async throws {
    let world = try world()
    let query = try world.query("rooms").ordered(
      by: try ConiferDocument.FieldPath(dotted: "n"))
    await world.listen(1, query)
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2), ("rooms/c", 3)], at: 1000)
    await world.waitUntilIdle()
    world.engine.setNetwork(false) { _ in }
    await world.listen(2, try query.limited(to: 2))
    _ = world.told.take()
    faults.failOnce(.readQuery)
    _ = world.engine.write([Mutation(try DocumentPath("rooms/a"), .delete)], nil)
    await world.waitUntilIdle()
    #expect(!world.told.take().contains { $0.hasPrefix("2:") })
    await retry(world)
    #expect(world.told.take() == ["2: b2 c3 cached"])
    await world.end()
  }

  @Test func `tells listeners of a bundle once they can be told`() async throws {
    let world = try world()
    await world.listen(1, try world.query("rooms"))
    world.engine.setNetwork(false) { _ in }
    await world.waitUntilIdle()
    _ = world.told.take()
    let bytes = `The engine of documents and bundles`.bundle(
      "rooms", "1970-01-01T00:00:03Z", `The engine of documents and bundles`.document("rooms/a", 1))
    faults.failOnce(.readDocument, after: 1)
    world.engine.loadBundle(bytes) { [told = world.told] result in
      if case .success(let progress) = result, progress.isDone { told.add("loaded") }
    }
    await world.waitUntilIdle()
    await retry(world)
    #expect(world.told.take() == ["loaded", "1: a1 cached"])
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `keeps a query with the next call when it could not be stored`(
    store: EngineStore
  ) async throws {
    let world = try world(store)
    let query = try world.query("rooms")
    await world.waitUntilIdle()
    faults.failOnce(.metadata)
    world.engine.keepSynced(true, query)
    await world.waitUntilIdle()
    #expect(world.server.targets.count == 1)
    world.engine.keepSynced(true, query)
    await world.waitUntilIdle()
    #expect(world.server.targets.count == 1)
    await world.restart()
    #expect(world.server.targets.values.map(\.target) == [query.target])
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `listens to pinned queries beside one that cannot be read`(store: EngineStore) async throws {
    let world = try world(store)
    let queries = try ["halls", "rooms"].map { try world.query($0) }
    for query in queries { world.engine.keepSynced(true, query) }
    await world.waitUntilIdle()
    #expect(world.server.targets.count == 2)
    await world.end()
    let backend = try #require(world.configuration.storage).open()
    let tree = try await backend.tree(named: "\(EngineWorld.database)", order: .documents)
    try await backend.commit([
      .setMetadata(tree, MetadataName.pinned(queries[0].target.canonical), Array("no query".utf8))
    ])
    try await backend.close()
    await world.restart()
    #expect(world.server.targets.values.map(\.target) == [queries[1].target])
    await world.end()
  }

  @Test func `waits longer each time that the same event cannot be stored`() async throws {
    let world = try world()
    await world.listen(1, try world.query("rooms"))
    func tell(_ id: String, at micros: Int64) async throws -> Int64? {
      try world.server.tell(2, [("rooms/\(id)", 1)], at: micros)
      await world.waitUntilIdle()
      guard let retry = await world.engine.inspect().retry else { return nil }
      let delay = retry - world.clock.now
      world.clock.advance(to: retry)
      await world.waitUntilIdle()
      // A stream that failed is opened again later.
      world.clock.advance(by: 100_000)
      await world.waitUntilIdle()
      return delay
    }
    faults.refuse(try DocumentPath("rooms/a"), .io)
    var delays: [Int64?] = []
    for time: Int64 in 1...3 { delays.append(try await tell("a", at: time * 1000)) }
    #expect(delays == [1000, 1500, 2250])
    #expect(try await tell("b", at: 4000) == nil)
    #expect(try await tell("a", at: 5000) == 1000)
    await world.end()
  }

  @Test(arguments: [StoreError.Code.tooLarge, .invalid])
  func `ends the listeners of what can never be stored, and none else`(
    code: StoreError.Code
  ) async throws {
    let world = try world()
    await world.listen(1, try world.query("rooms"))
    await world.listen(2, try world.query("halls"))
    try world.set("yards/a", 1)
    await world.waitUntilIdle()
    faults.refuse(try DocumentPath("rooms/a"), code)
    for id: TargetID in [2, 4] { world.server.say(.targets(.added, [id])) }
    try world.server.tell("rooms/a", 1, to: [2], version: 1000)
    try world.server.tell("halls/a", 1, to: [4], version: 1000)
    world.server.say(.targets(.current, [2, 4], resumeToken: [1]))
    world.server.say(.targets(.noChange, []), at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: internal", "2: a1"])
    #expect(world.server.hasWatch && world.server.targets.keys.sorted() == [4])
    #expect(world.server.sent.count == 1)
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["yards/a: done"])
    await world.end()
  }

  @Test func `ends the listeners that show a document in limbo that can never be stored`()
    async throws
  {
    let world = try world()
    await world.listen(1, try world.query("rooms"))
    await world.listen(2, try world.query("halls"))
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2)], at: 1000)
    try world.server.tell(4, [], at: 1000)
    await world.waitUntilIdle()
    _ = world.told.take()
    let path = try DocumentPath("rooms/a")
    world.server.say(.left(path, [2]))
    world.server.say(.targets(.noChange, []), at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 b2 cached"])
    let limbo = try #require(world.server.targets.keys.first { $0 % 2 == 1 })
    faults.refuse(path, .invalid)
    try world.server.tell(limbo, [("rooms/a", 3)], at: 3000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: internal"])
    #expect(world.server.hasWatch && world.server.targets.keys.sorted() == [4])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `asks again whether documents are gone when their leaving could not be stored`(
    store: EngineStore
  ) async throws {
    let world = try world(store)
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2)], at: 1000)
    await world.waitUntilIdle()
    _ = world.told.take()
    faults.fail([.applyRemoteEvent])
    world.server.say(.filter(2, count: 1))
    world.server.say(.targets(.noChange, []), at: 2000)
    await world.waitUntilIdle()
    faults.fail([])
    await retry(world)
    let target = try #require(world.server.targets[2])
    #expect(target.resumeToken == Array("t1000".utf8) && target.expectedCount == 2)
    #expect(world.told.take() == ["1: a1 b2 cached"])
    await world.end()
  }
}
