import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferTree
import Synchronization
import Testing

@testable import Conifer
@testable import ConiferSync

/// Writes that have ended, of which the store could not be told, and purges that it refuses.
@Suite struct UnstoredEndTests {
  private static let increment = #"{".sv":{"increment":1}}"#
  private static let full = StoreError(.full, "The disk is full: make room.")

  /// Rules by which nobody may write, until a test says so.
  private final class Closed: AccessRules {
    private let isOpen = Mutex(false)

    func open() { isOpen.withLock { $0 = true } }
    func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool { true }
    func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool {
      isOpen.withLock { $0 }
    }
  }

  private func device(
    _ store: Store, in world: World, _ policy: UnknownOutcome = .sendAgain
  ) async -> (Device, ScriptedBackend.Script) {
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.unknownOutcome = policy
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    return (device, script)
  }

  private func reconnect(_ world: World, _ device: Device) async {
    device.transport.disconnect()
    await world.waitUntilIdle()
    await world.pass(60_000)
  }

  @Test(arguments: Store.allCases)
  func `What waits behind many writes that have ended unstored is sent`(
    _ store: Store
  ) async throws {
    let world = try World()
    let (device, script) = await device(store, in: world)
    script.fail(Self.full, at: "finish")
    for number in 0..<100 { device.set("a", "\(number)") }
    await world.waitUntilIdle()
    device.engine.goOffline()
    for number in 0..<3 { device.set(Path("b/\(number)"), "1") }
    await world.waitUntilIdle()
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(sent.paths == ["b/0", "b/1", "b/2"])
    #expect(try await device.queued().isEmpty)
    script.fail(nil)
    #expect(try await device.engine.writeTotals().pending == 0)
  }

  @Test(arguments: Store.allCases)
  func `A refusal that could not be stored may be answered by the app when there is room`(
    _ store: Store
  ) async throws {
    let rules = Closed()
    let world = try World(ServerConfiguration(rules: rules))
    let (device, script) = await device(store, in: world)
    script.fail(Self.full, at: "setState")
    for name in ["one", "two", "three"] { device.set(Path(name), "1", name) }
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["one", "two", "three"].map { "\($0) permission-denied" })
    let refused = try await device.queued()
    #expect(refused.count == 3)
    let listed = try await device.engine.writes(after: nil, limit: 9, rejectedOnly: true)
    #expect(listed == refused)
    let early = await #expect(throws: DatabaseError.self) {
      try await device.engine.retry(refused[0].id)
    }
    #expect(early?.code == .storageFull)
    script.fail(nil)
    rules.open()
    #expect(
      try await device.engine.writes(after: nil, limit: 9, rejectedOnly: true).map(\.id)
        == refused.map(\.id))
    try await device.engine.retry(refused[0].id)
    try await device.engine.discard(refused[1].id)
    _ = try await device.engine.edit(refused[2].id, to: .set("three", json("3")))
    await world.waitUntilIdle()
    #expect(world.data == json(#"{"one":1,"three":3}"#))
    #expect(try await device.queued().isEmpty)
  }

  @Test(arguments: Store.allCases)
  func `What the server has done is not discarded, though that could not be stored`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("room", #"{"a":1}"#)
    let (device, script) = await device(store, in: world)
    let id = device.listen("room", QueryTarget("room"), .init(.value))
    await world.waitUntilIdle()
    device.engine.stopObserving(id)
    await world.waitUntilIdle()
    _ = device.lines.take()
    // The end of the write takes the completeness of the room with it; its discarding alone would fit.
    script.fail(Self.full, at: "saveQuery")
    let receipt = device.set("room/t", #"{".sv":"timestamp"}"#, "w")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["w done"])
    let write = try #require(try await receipt.id)
    let refused = await #expect(throws: DatabaseError.self) {
      try await device.engine.discard(write)
    }
    #expect(refused?.code == .unknownWrite)
    #expect(try await device.queued().isEmpty)
    let totals = try await device.engine.writeTotals()
    #expect(totals.pending == 0 && totals.rejected == 0)
    script.fail(nil)
    #expect(try await device.engine.outcome(of: write) == .acknowledged)
    #expect(await device.engine.unstoredEnds == 0)
  }

  @Test(arguments: Store.allCases)
  func `A refusal that could not be stored counts as refused, and may be discarded`(
    _ store: Store
  ) async throws {
    let world = try World(ServerConfiguration(rules: Closed()))
    let (device, script) = await device(store, in: world)
    script.fail(Self.full, at: "setState")
    let receipt = device.set("a", "1", "w")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["w permission-denied"])
    let totals = try await device.engine.writeTotals()
    #expect(totals.pending == 0 && totals.rejected == 1)
    try await device.engine.discard(try #require(try await receipt.id))
    #expect(await device.engine.unstoredEnds == 0)
    let left = try await device.engine.writeTotals()
    #expect(left == PendingWriteTotals(pending: 0, rejected: 0, bytes: 0))
  }

  /// What becomes of the listen that began while an end could not be stored.
  enum Later: CaseIterable {
    case answeredBefore
    case answeredAfter
    case unanswered
  }

  @Test(arguments: Store.durable, Later.allCases)
  func
    `What is listened to when an end is stored late is complete again, and not before it is answered`(
      _ store: Store, _ later: Later
    ) async throws
  {
    let world = try World()
    world.serverSets("a", #"{"x":1}"#)
    let (device, script) = await device(store, in: world)
    let id = device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    device.engine.stopObserving(id)
    await world.waitUntilIdle()
    device.transport.hold(.toClient)
    device.set("a/b", "2", "w")
    await world.waitUntilIdle()
    _ = device.lines.take()
    script.fail(Self.full)
    device.transport.release()
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["w done"])
    if later != .answeredBefore { device.transport.hold(.toClient) }
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    script.fail(nil)
    device.set("other", "1")
    await world.waitUntilIdle()
    if later != .unanswered {
      device.transport.release()
      world.serverSets("a/c", "3")
      await world.waitUntilIdle()
    }
    await device.restart(isOnline: false)
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == (later == .unanswered ? [] : [#"a value {"b":2,"c":3,"x":1}"#]))
  }

  @Test(arguments: Store.allCases, [UnknownOutcome.sendAgain, .leaveToApp])
  func `A purge that the store refuses sends nothing twice`(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws {
    let world = try World()
    let (device, script) = await device(store, in: world, policy)
    device.transport.hold(.toClient)
    device.set("n", Self.increment, "one")
    await world.waitUntilIdle()
    device.transport.release()
    script.fail(Self.full)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["one done"])
    script.fail(nil)
    device.transport.hold(.toClient)
    device.set("n", Self.increment, "two")
    await world.waitUntilIdle()
    script.fail(Self.full)
    device.engine.purge()
    await world.waitUntilIdle()
    device.transport.release()
    await world.waitUntilIdle()
    script.fail(nil)
    await reconnect(world, device)
    #expect(world.data("n") == json("2"))
    #expect(device.lines.take() == ["two done"])
    #expect(try await device.queued().isEmpty)
  }
}
