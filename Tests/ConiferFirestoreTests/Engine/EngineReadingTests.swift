import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferStorage
import ConiferWire
import Synchronization
import TestSupport
import Testing

@Suite struct `The engine of documents reads once` {
  private func get(_ world: EngineWorld, _ path: String, _ source: GetSource) throws {
    world.engine.get(try DocumentPath(path), source) { [told = world.told] result in
      switch result {
      case .success(let got):
        told.add(EngineWorld.text(got.document) + (got.isFromCache ? " cached" : ""))
      case .failure(let error): told.add("\(error.code)")
      }
    }
  }

  @Test(arguments: EngineStore.allCases)
  func `documents from the server or the cache`(store: EngineStore) async throws {
    let world = try EngineWorld(store)
    try get(world, "rooms/a", .cache)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["unavailable"])
    try get(world, "rooms/a", .default)
    await world.waitUntilIdle()
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["a1"])
    #expect(await world.engine.inspect().targets.isEmpty)
    try get(world, "rooms/b", .server)
    await world.waitUntilIdle()
    try world.server.tell(4, [], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["b-"])

    world.engine.setNetwork(false) { _ in }
    for path in ["rooms/a", "rooms/b", "rooms/c"] {
      for source in [GetSource.cache, .default, .server] { try get(world, path, source) }
    }
    await world.waitUntilIdle()
    #expect(
      world.told.take() == [
        "a1 cached", "a1 cached", "unavailable", "b- cached", "unavailable", "unavailable",
        "unavailable", "unavailable", "unavailable",
      ])
    await world.end()
  }

  /// The listener may show what the server said as long as it was asked.
  @Test(arguments: EngineStore.allCases)
  func `queries from the server, though a listener of the cache shows what it said before`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    let query = try world.query("rooms")
    func get() async {
      world.engine.get(query, .server) { [told = world.told] in told.add(EngineWorld.text($0)) }
      await world.waitUntilIdle()
    }
    await world.listen(1, query, ListenOptions(includesMetadataChanges: true, source: .cache))
    await get()
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1:  cached", "1: a1", "a1"])
    await get()
    #expect(world.told.take() == ["1: a1 cached"])
    try world.server.tell(2, [("rooms/a", 2)], at: 2000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a2", "a2"])
    await get()
    world.engine.setNetwork(false) { _ in }
    await world.waitUntilIdle()
    #expect(world.told.take().last == "unavailable")
    await world.end()
  }

  /// What matches a query is known up to the moment until when the server was asked for it, not up to what it said of others.
  @Test(arguments: EngineStore.allCases, [false, true])
  func `what it wrote while the server was asked for another query`(
    store: EngineStore, ends: Bool
  ) async throws {
    let world = try EngineWorld(store)
    let n = ConiferDocument.FieldPath(unchecked: ["n"])
    let query = try world.query("rooms").filtered(.field(n, .greaterThan, .integer(0)))
    await world.listen(1, query)
    try world.server.tell(2, [("rooms/a", 1)], at: 1_000_000_000)
    await world.waitUntilIdle()
    await world.listen(2, query, ListenOptions(source: .cache))
    world.engine.unlisten(1)
    await world.listen(3, try world.query("halls"))
    try world.server.tell(4, [("halls/x", 1)], at: 1_000_000_000)
    try world.set("rooms/b", 5)
    await world.waitUntilIdle()
    try world.server.accept(at: 2_000_000_000)
    await world.waitUntilIdle()
    try world.server.tell(4, [("halls/x", 2)], at: 3_000_000_000)
    await world.waitUntilIdle()
    if ends && store != .memory { await world.restart() } else { world.engine.unlisten(2) }
    world.engine.setNetwork(false) { _ in }
    await world.waitUntilIdle()
    _ = world.told.take()
    world.engine.get(query, .cache) { [told = world.told] in told.add(EngineWorld.text($0)) }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["a1 b5 cached"])
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `queries, and tells how well the cache knows them`(store: EngineStore) async throws {
    let world = try EngineWorld(store)
    func get(_ source: GetSource) async throws {
      world.engine.get(try world.query("rooms"), source) { [told = world.told] result in
        var text = EngineWorld.text(result)
        if case .success(let event) = result {
          text += event.knowledge.wasEverComplete ? " complete" : ""
          text += " \(event.knowledge.readTime.microseconds)"
        }
        told.add(text)
      }
      await world.waitUntilIdle()
    }
    try await get(.cache)
    #expect(world.told.take() == [" cached 0"])
    try await get(.server)
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take() == ["a1 complete 1000"])
    world.engine.setNetwork(false) { _ in }
    try await get(.default)
    try await get(.server)
    try await get(.cache)
    #expect(
      world.told.take() == ["a1 cached complete 1000", "unavailable", "a1 cached complete 1000"])
    await world.end()
  }

  @Test func `numbers on the server, or of the cache when that cannot be reached`() async throws {
    let world = try EngineWorld()
    func aggregate(_ source: GetSource) async throws {
      let (answers, ended) = AsyncStream<String>.makeStream()
      world.engine.aggregate(
        try world.query("rooms"), [.count, .sum(try ConiferDocument.FieldPath(dotted: "n"))], source
      ) { result in
        switch result {
        case .success(let answer):
          ended.yield(
            "\(answer.values.map { "\($0)" }.joined(separator: " "))"
              + (answer.cached.map { $0.wasEverComplete ? " complete" : " cached" } ?? ""))
        case .failure(let error): ended.yield("\(error.code)")
        }
        ended.finish()
      }
      for await answer in answers { world.told.add(answer) }
    }
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2)], at: 1000)
    try world.set("rooms/c", 3)
    await world.waitUntilIdle()
    _ = world.told.take()
    world.server.state.withLock { $0.aggregate = .success([.integer(7), .integer(8)]) }
    try await aggregate(.default)
    try await aggregate(.cache)
    world.server.state.withLock { $0.aggregate = .failure(StatusError(.unavailable, "")) }
    try await aggregate(.default)
    try await aggregate(.server)
    world.engine.setNetwork(false) { _ in }
    await world.waitUntilIdle()
    _ = world.told.all.count
    try await aggregate(.default)
    try await aggregate(.server)
    let told = world.told.take().filter { !$0.hasPrefix("1:") }
    #expect(
      told == [
        "integer(7) integer(8)", "integer(3) integer(6) complete",
        "integer(3) integer(6) complete", "unavailable", "integer(3) integer(6) complete",
        "unavailable",
      ])
    await world.end()
  }

  @Test func `documents for a transaction, also when the network is not to be used`() async throws {
    let world = try EngineWorld()
    world.engine.setNetwork(false) { _ in }
    let path = try DocumentPath("rooms/a")
    world.server.state.withLock { $0.found[path] = Document(path, .found(["n": 1])) }
    #expect(
      try await world.engine.lookup([path], TransactionUser()).map(\.state) == [.found(["n": 1])])
    do throws(FirestoreError) {
      try await world.engine.commit([Mutation(path, .delete)], TransactionUser())
      Issue.record("The server refused, and nobody was told.")
    } catch {
      #expect(error.code == .aborted)
    }
    await world.end()
  }
}

@Suite struct `The cache of the engine of documents` {
  @Test(arguments: EngineStore.durable)
  func `keeps queries up to date and protects them, in later runs too`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    let query = try world.query("rooms").filtered(
      .field(ConiferDocument.FieldPath(dotted: "n"), .greaterThan, .integer(0))
    ).limited(to: 10)
    world.engine.keepSynced(true, query)
    await world.waitUntilIdle()
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    try await world.engine.collectGarbage(downTo: 0)
    await world.restart()
    #expect(world.server.targets[2]?.target == query.target)
    world.engine.keepSynced(false, query)
    await world.waitUntilIdle()
    #expect(world.server.targets.isEmpty)
    world.engine.get(query, .cache) { [told = world.told] in told.add(EngineWorld.text($0)) }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["a1 cached"])
    try await world.engine.collectGarbage(downTo: 0)
    world.engine.get(query, .cache) { [told = world.told] in told.add(EngineWorld.text($0)) }
    await world.waitUntilIdle()
    #expect(world.told.take() == [" cached"])
    await world.restart()
    #expect(world.server.targets.isEmpty)
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `never goes back, of the first documents of a collection or of more`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    func tell(_ names: ClosedRange<Character>, _ n: Int64, version: Int64, at micros: Int64) throws
    {
      world.server.say(.targets(.added, [2]))
      for name in "abcdefghijklmnop" where names.contains(name) {
        try world.server.tell("rooms/\(name)", n, to: [2], version: version)
      }
      world.server.say(.targets(.current, [2], resumeToken: [1]))
      world.server.say(.targets(.noChange, []), at: micros)
    }
    try tell("a"..."j", 1, version: 2000, at: 2000)
    await world.waitUntilIdle()
    // Of an earlier state, but for the newer ones behind it.
    try tell("a"..."p", 2, version: 1000, at: 3000)
    await world.waitUntilIdle()
    world.engine.get(try world.query("rooms"), .cache) { [told = world.told] in
      told.add(EngineWorld.text($0))
    }
    await world.waitUntilIdle()
    let shown = "abcdefghij".map { "\($0)1" } + "klmnop".map { "\($0)2" }
    #expect(world.told.take().last == shown.joined(separator: " ") + " cached")
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `is made smaller from the first moment on, and not once it is closed`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    try await world.engine.collectGarbage(downTo: 0)
    let other = FirestoreEngine(world.configuration)
    let busy = await #expect(throws: FirestoreError.self) {
      try await other.collectGarbage(downTo: 0)
    }
    #expect(busy?.code != .unimplemented)
    await withCheckedContinuation { ended in other.terminate { _ in ended.resume() } }
    await world.end()
    let closed = await #expect(throws: FirestoreError.self) {
      try await world.engine.collectGarbage(downTo: 0)
    }
    #expect(closed?.code != .unimplemented)
  }

  @Test(arguments: EngineStore.allCases)
  func `forgets at once what nothing needs, where that is wanted`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store) { $0.cache = .memoryWhileUsed }
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1), ("rooms/b", 2)], at: 1000)
    try world.set("rooms/b", 3)
    await world.waitUntilIdle()
    world.engine.unlisten(1)
    await world.waitUntilIdle()
    _ = world.told.take()
    world.engine.get(try world.query("rooms"), .cache) { [told = world.told] in
      told.add(EngineWorld.text($0))
    }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["b3 cached pending"])
    try world.server.accept(at: 2000)
    await world.waitUntilIdle()
    world.engine.get(try world.query("rooms"), .cache) { [told = world.told] in
      told.add(EngineWorld.text($0))
    }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["rooms/b: done", " cached"])
    await world.listen(2, try world.query("rooms"))
    #expect(await world.engine.target(of: 2) == 4)
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `declares indexes, also when a query shows that one would help`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    let n = try ConiferDocument.FieldPath(dotted: "n")
    let declared = try DocumentIndex("rooms", [DocumentIndex.Field(n, .descending)])
    world.engine.setIndexes([declared]) { [told = world.told] in told.add("declared \($0 == nil)") }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["declared true"])
    await world.listen(1, try world.query("halls"))
    try world.server.tell(2, (0..<120).map { ("halls/\($0)", Int64($0)) }, at: 1000)
    world.engine.setCreatesIndexes(true)
    await world.waitUntilIdle()
    _ = world.told.take()
    let query = try world.query("halls").filtered(.field(n, .equal, .integer(5)))
    world.engine.get(query, .cache) { [told = world.told] in told.add(EngineWorld.text($0)) }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["55 cached"])
    let indexes = try await world.engine.indexes()
    #expect(Set(indexes) == [declared, try DocumentIndex("halls", [DocumentIndex.Field(n)])])
    await world.end()
  }
}
