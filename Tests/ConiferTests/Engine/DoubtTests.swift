import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferSync
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import Conifer

/// What becomes of a change of the queue whose commit is reported as failed: the store may have it all the same.
@Suite struct DoubtTests {
  /// Whether commits that fail are made, and whether nothing can be read behind them.
  struct Doubt: Sendable, CustomTestStringConvertible {
    let isMade: Bool
    let isBlind: Bool

    static let all = [true, false].flatMap { made in
      [true, false].map { Doubt(isMade: made, isBlind: $0) }
    }

    var testDescription: String {
      (isMade ? "made" : "not made") + (isBlind ? ", and nothing can be read" : "")
    }
  }

  private static let increment = #"{".sv":{"increment":1}}"#

  /// Rules by which nobody may write, until a test says so.
  private final class Closed: AccessRules {
    private let isOpen = Mutex(false)

    func open() { isOpen.withLock { $0 = true } }
    func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool { true }
    func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool {
      isOpen.withLock { $0 }
    }
  }

  private let script = ScriptedBackend.Script()

  private func device(_ store: Store, in world: World, isOnline: Bool = false) async -> Device {
    let device = world.device(store, isOnline: isOnline) { [script] in
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    return device
  }

  /// The disk works again, and the engine looks again.
  private func heal(_ world: World) async {
    script.heal()
    await world.pass(2_000)
  }

  /// Has the app change its queue while the disk fails, and gives what became of that once the disk works again; nil for
  /// success.
  private func change(
    _ device: Device, in world: World, _ doubt: Doubt,
    _ body: @escaping @Sendable (Engine) async throws(DatabaseError) -> Void
  ) async throws -> DatabaseError? {
    let commits = script.counts.failures
    script.doubt(isMade: doubt.isMade, isBlind: doubt.isBlind)
    let engine = device.engine
    let result = Task { () -> DatabaseError? in
      do throws(DatabaseError) { try await body(engine) } catch { return error }
      return nil
    }
    try await eventually("The change was not committed.") { script.counts.failures > commits }
    await world.waitUntilIdle()
    await heal(world)
    return await result.value
  }

  @Test(arguments: Store.allCases, Doubt.all)
  func `Writes are queued once, and the app is told whether the store has them`(
    _ store: Store, _ doubt: Doubt
  ) async throws {
    let world = try World()
    let device = await device(store, in: world)
    device.listenToValue("n", QueryTarget("n"))
    await world.waitUntilIdle()
    _ = device.lines.take()
    script.doubt(isMade: doubt.isMade, isBlind: doubt.isBlind)
    var receipts: [WriteReceipt] = []
    // Both share a commit.
    await device.atOnce {
      for name in ["one", "two"] { receipts.append(device.set("n", Self.increment, name)) }
    }
    await world.waitUntilIdle()
    // One that comes while nobody knows has no place in the queue.
    let later = doubt.isBlind ? device.set("later", "1") : nil
    await world.waitUntilIdle()
    await heal(world)
    #expect(device.lines.all.contains("n value 2") == doubt.isMade)
    #expect(try await device.queued().count == (doubt.isMade ? 2 : 0))
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data == json(doubt.isMade ? #"{"n":2}"# : "null"))
    for receipt in receipts {
      let outcome = try await receipt.outcome
      #expect((outcome == .acknowledged) == doubt.isMade, "\(outcome)")
      if doubt.isMade {
        #expect(try await receipt.id != nil)
        #expect(try await receipt.durable >= (store == .memory ? .relaxed : .process))
      }
    }
    if let outcome = try await later?.outcome {
      #expect({ if case .failed = outcome { true } else { false } }(), "\(outcome)")
    }
    #expect(try await device.queued().isEmpty)
  }

  @Test(arguments: Store.allCases, Doubt.all)
  func `A discarded write ends, or is sent`(_ store: Store, _ doubt: Doubt) async throws {
    let world = try World()
    let device = await device(store, in: world)
    let receipt = device.set("n", Self.increment)
    await world.waitUntilIdle()
    let id = try #require(try await receipt.id)
    let error = try await change(device, in: world, doubt) { (engine) throws(DatabaseError) in
      try await engine.discard(id)
    }
    #expect((error == nil) == doubt.isMade)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(try await receipt.outcome == (doubt.isMade ? .discarded : .acknowledged))
    #expect(world.data == json(doubt.isMade ? "null" : #"{"n":1}"#))
  }

  @Test(arguments: Store.allCases, Doubt.all.flatMap { [($0, false), ($0, true)] })
  func `A refused write that is queued again or replaced is sent once, if the store has that`(
    _ store: Store, _ change: (doubt: Doubt, isReplaced: Bool)
  ) async throws {
    let (doubt, isReplaced) = change
    let rules = Closed()
    let world = try World(ServerConfiguration(rules: rules))
    let device = await device(store, in: world, isOnline: true)
    let receipt = device.set("n", Self.increment)
    await world.waitUntilIdle()
    let id = try #require(try await receipt.id)
    rules.open()
    let error = try await self.change(device, in: world, doubt) { (engine) throws(DatabaseError) in
      if isReplaced {
        _ = try await engine.edit(id, to: .set("n", json(Self.increment)))
      } else {
        try await engine.retry(id)
      }
    }
    #expect((error == nil) == doubt.isMade)
    await world.waitUntilIdle()
    #expect(world.data == json(doubt.isMade ? #"{"n":1}"# : "null"))
    let left = try await device.engine.writes(after: nil, limit: 9, rejectedOnly: true)
    #expect(left.count == (doubt.isMade ? 0 : 1))
  }

  @Test(arguments: Store.allCases, Doubt.all)
  func `What is purged is not sent, if the store has that`(
    _ store: Store, _ doubt: Doubt
  ) async throws {
    let world = try World()
    let device = await device(store, in: world)
    let receipt = device.set("n", Self.increment)
    await world.waitUntilIdle()
    script.doubt(isMade: doubt.isMade, isBlind: doubt.isBlind)
    device.engine.purge()
    await world.waitUntilIdle()
    await heal(world)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(try await receipt.outcome == (doubt.isMade ? .discarded : .acknowledged))
    #expect(world.data == json(doubt.isMade ? "null" : #"{"n":1}"#))
  }

  @Test(arguments: Store.durable, [true, false])
  func `When the database is closed in doubt nobody is told that a write was not queued`(
    _ store: Store, _ isMade: Bool
  ) async throws {
    let world = try World()
    let device = await device(store, in: world)
    script.doubt(isMade: isMade, isBlind: true)
    let receipt = device.set("n", Self.increment, "w")
    await world.waitUntilIdle()
    #expect(device.lines.all == [])
    await device.engine.close()
    let error = await #expect(throws: DatabaseError.self) { try await receipt.outcome }
    #expect(error?.code == .closed)
    #expect(await #expect(throws: DatabaseError.self) { try await receipt.id }?.code == .closed)
    script.heal()
    await device.restart()
    await world.waitUntilIdle()
    #expect(world.data == json(isMade ? #"{"n":1}"# : "null"))
  }
}
