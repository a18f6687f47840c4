import ConiferDocument
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// What becomes of a change of the queue whose commit is reported as failed: the store may have it all the same.
@Suite struct `The engine of documents and a commit in doubt` {
  /// Whether commits that fail are made, and whether nothing can be read behind them.
  struct Doubt: Sendable, CustomTestStringConvertible {
    let isMade: Bool
    let isBlind: Bool

    static let all = [true, false].flatMap { made in
      [true, false].map { Doubt(isMade: made, isBlind: $0) }
    }

    var chances: DiskFaults.Chances {
      DiskFaults.Chances(commits: 100, made: isMade ? 100 : 0, endsReads: isBlind)
    }
    var testDescription: String {
      (isMade ? "made" : "not made") + (isBlind ? ", and nothing can be read" : "")
    }
  }

  private let disk = DiskFaults()

  private func world(_ store: EngineStore) async throws -> EngineWorld {
    let world = try EngineWorld(store) { [disk] in $0.storage = $0.storage?.failing(disk) }
    world.engine.setNetwork(false) { _ in }
    await world.waitUntilIdle()
    return world
  }

  /// The disk works again, and the engine tries again.
  private func heal(_ world: EngineWorld) async {
    disk.heal()
    for _ in 0..<5 {
      world.clock.advance(by: 2_000)
      await world.waitUntilIdle()
    }
  }

  /// Has the server accept all that is sent to it.
  private func acceptAll(_ world: EngineWorld) async throws {
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    var time: Int64 = 0
    while !world.server.sent.isEmpty {
      time += 1000
      try world.server.accept(at: time)
      await world.waitUntilIdle()
    }
  }

  @Test(arguments: EngineStore.allCases, Doubt.all)
  func `queues writes once, and tells whether the store has them`(
    store: EngineStore, doubt: Doubt
  ) async throws {
    let world = try await world(store)
    await world.listen(1, try world.query("rooms"))
    _ = world.told.take()
    disk.fail(doubt.chances)
    let writes = try ["a", "c"].map { name in
      try Mutation.merge(
        DocumentPath("rooms/\(name)"), [("n", .transform(.increment(.integer(1))))],
        in: EngineWorld.database)
    }
    // Made within one step, both share a commit.
    let gathered = Gathered<WriteReceipt>()
    world.engine.run { [engine = world.engine] _ in
      for write in writes { gathered.add(engine.write([write], nil)) }
    }
    await world.waitUntilIdle()
    let receipts = gathered.all
    try #require(receipts.count == 2)
    // One that comes while nobody knows has no place in the queue.
    let later = doubt.isBlind ? try world.set("rooms/b", 1) : nil
    await world.waitUntilIdle()
    await heal(world)
    try await acceptAll(world)
    var outcomes: [WriteReceipt.Outcome] = []
    for receipt in receipts { outcomes.append(try await receipt.outcome) }
    let isAcknowledged = outcomes.map { $0 == .acknowledged }
    #expect(isAcknowledged == [doubt.isMade, doubt.isMade], "\(outcomes)")
    #expect(world.server.allSent.count == (doubt.isMade ? 2 : 0))
    if let later {
      let outcome = try await later.outcome
      #expect({ if case .failed = outcome { true } else { false } }(), "\(outcome)")
    }
    if doubt.isMade {
      for receipt in receipts {
        #expect(try await receipt.id != nil)
        #expect(try await receipt.durable >= (store == .memory ? .relaxed : .process))
      }
      #expect(world.told.take().contains("1: a1 c1 cached pending"))
    }
    await world.end()
  }

  /// The answer comes in the step that finds out that the storage fails.
  @Test(arguments: EngineStore.allCases, Doubt.all)
  func `keeps the server's answer to another write`(store: EngineStore, doubt: Doubt) async throws {
    let world = try EngineWorld(store) { [disk] in $0.storage = $0.storage?.failing(disk) }
    let first = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1)
    disk.fail(doubt.chances)
    let other = try Mutation.set(
      DocumentPath("rooms/b"), [("n", .value(.integer(2)))], in: EngineWorld.database)
    world.engine.run { [engine = world.engine, server = world.server] _ in
      _ = engine.write([other], nil)
      try? server.accept(at: 1000)
    }
    await world.waitUntilIdle()
    await heal(world)
    world.clock.advance(by: 60_000)
    await world.waitUntilIdle()
    try await acceptAll(world)
    #expect(try await first.outcome == .acknowledged)
    let sent = world.server.allSent.flatMap { $0.map(\.path.id) }
    #expect(sent == (doubt.isMade ? ["a", "b"] : ["a"]))
    #expect(world.told.take().count { $0 == "rooms/a: done" } == 1)
    await world.end()
  }

  @Test func `takes no later write for one of the same content that the store does not have`()
    async throws
  {
    let world = try await world(.memory)
    disk.fail(Doubt(isMade: false, isBlind: true).chances)
    let first = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    // The disk works again, and nobody has tried it.
    disk.heal()
    let second = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    await heal(world)
    try await acceptAll(world)
    #expect(world.server.allSent.count == 1)
    #expect(try await second.outcome == .acknowledged)
    let outcome = try await first.outcome
    #expect({ if case .failed = outcome { true } else { false } }(), "\(outcome)")
    await world.end()
  }

  @Test(arguments: [true, false])
  func `tells of a write in doubt that the database was closed`(isMade: Bool) async throws {
    let world = try await world(.memory)
    disk.fail(Doubt(isMade: isMade, isBlind: true).chances)
    let receipt = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    await world.end()
    for body in [
      { _ = try await $0.id }, { _ = try await $0.durable }, { _ = try await $0.outcome },
    ] as [(WriteReceipt) async throws -> Void] {
      let error = await #expect(throws: DatabaseError.self) { try await body(receipt) }
      #expect(error?.code == .closed)
    }
  }

  @Test(arguments: EngineStore.allCases, Doubt.all)
  func `ends a discarded write, or has it sent`(store: EngineStore, doubt: Doubt) async throws {
    let world = try await world(store)
    let receipt = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    let id = try #require(try await receipt.id)
    disk.fail(doubt.chances)
    do throws(FirestoreError) {
      try await world.engine.discard(id)
      #expect(doubt.isMade && !doubt.isBlind)
    } catch {
      #expect(!doubt.isMade || doubt.isBlind, "\(error)")
    }
    await heal(world)
    try await acceptAll(world)
    #expect(try await receipt.outcome == (doubt.isMade ? .discarded : .acknowledged))
    #expect(world.told.take() == ["rooms/a: \(doubt.isMade ? "cancelled" : "done")"])
    #expect(world.server.allSent.count == (doubt.isMade ? 0 : 1))
    await world.end()
  }

  @Test(arguments: EngineStore.allCases, Doubt.all)
  func `sends a refused write that is queued again, if the store has that`(
    store: EngineStore, doubt: Doubt
  ) async throws {
    let world = try await world(store)
    let receipt = try world.set("rooms/a", 1)
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    world.server.refuse(.permissionDenied)
    await world.waitUntilIdle()
    let id = try #require(try await receipt.id)
    await world.listen(1, try world.query("rooms"))
    _ = world.told.take()
    disk.fail(doubt.chances)
    try? await world.engine.retry(id)
    await heal(world)
    #expect(world.server.allSent.count == (doubt.isMade ? 2 : 1))
    #expect(world.told.take().contains("1: a1 cached pending") == doubt.isMade)
    await world.end()
  }
}
