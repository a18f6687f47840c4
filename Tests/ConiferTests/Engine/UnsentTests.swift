import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import Testing

@testable import Conifer
@testable import ConiferSync

/// Increments that the store holds as sent, though they have not left this device.
@Suite struct UnsentTests {
  private static let increment = #"{".sv":{"increment":1}}"#

  private func device(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws -> (World, Device, ScriptedBackend.Script) {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.unknownOutcome = policy
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.listenToValue("n", QueryTarget("n"))
    await world.waitUntilIdle()
    _ = device.lines.take()
    return (world, device, script)
  }

  /// Delivers messages while something is not made durable.
  private func deliver(_ world: World, _ device: Device) async throws {
    repeat {
      for _ in 0..<3 { _ = try await device.engine.writeTotals() }
    } while world.pump.step()
  }

  private func disconnect(_ device: Device) {
    device.transport.isReachable = false
    device.transport.disconnect()
  }

  /// Where the queue's writes stand, and how often they were sent.
  private func standing(_ device: Device) async throws -> [String] {
    try await device.queued().map { "\($0.state) \($0.attempts)" }
  }

  @Test(arguments: Store.durable, [UnknownOutcome.sendAgain, .leaveToApp])
  func `An increment whose mark is not durable yet is queued, and may be given up`(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws {
    let (world, device, script) = try await device(store, policy)
    script.holdHardening()
    let receipt = device.set("n", Self.increment, "one")
    device.set("m", "1", "two")
    try await deliver(world, device)
    #expect(try await standing(device) == ["queued 0", "queued 0"])
    try await device.engine.discard(#require(try await receipt.id))
    script.releaseHardening()
    await world.waitUntilIdle()
    #expect(world.data == json(#"{"m":1}"#))
    #expect(device.lines.take().filter { !$0.hasPrefix("n ") } == ["one discarded", "two done"])
  }

  @Test(arguments: Store.durable, [UnknownOutcome.sendAgain, .leaveToApp])
  func `An increment that is marked and finds no connection any longer stays queued`(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws {
    let (world, device, script) = try await device(store, policy)
    script.holdHardening()
    for name in ["one", "two"] { device.set("n", Self.increment, name) }
    try await deliver(world, device)
    disconnect(device)
    try await deliver(world, device)
    script.releaseHardening()
    await world.waitUntilIdle()
    let waiting = try await device.queued()
    #expect(try await standing(device) == ["queued 0", "queued 0"])
    try await device.engine.discard(#require(waiting.first?.id))
    device.transport.isReachable = true
    await world.pass(60_000)
    #expect(world.data("n") == json("1"))
    #expect(device.lines.take().filter { !$0.hasPrefix("n ") } == ["one discarded", "two done"])
    #expect(try await device.queued().isEmpty)
  }

  @Test(arguments: Store.durable, [UnknownOutcome.sendAgain, .leaveToApp])
  func `A database that is closed in order stores that a marked increment was not sent`(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws {
    let (world, device, script) = try await device(store, policy)
    script.holdHardening()
    for _ in 0..<2 { device.set("n", Self.increment) }
    try await deliver(world, device)
    disconnect(device)
    try await deliver(world, device)
    script.releaseHardening()
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    #expect(try await standing(device) == ["queued 0", "queued 0"])
    let first = try #require(try await device.queued().first)
    try await device.engine.discard(first.id)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("n") == json("1"))
    #expect(try await device.queued().isEmpty)
  }

  @Test(arguments: Store.allCases, [UnknownOutcome.sendAgain, .leaveToApp])
  func `What a killed process may have sent is of unknown outcome, and may be given up offline`(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws {
    let world = try World()
    let device = world.device(store, canDie: true) { $0.unknownOutcome = policy }
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    for _ in 0..<3 { device.set("n", Self.increment) }
    await world.waitUntilIdle()
    #expect(try await standing(device) == ["sent 1", "sent 1", "sent 1"])
    let id = try #require(try await device.queued().first?.id)
    await #expect(throws: DatabaseError.self) { try await device.engine.discard(id) }

    device.life.end()
    await device.rise(isOnline: false)
    device.listenToValue("n", QueryTarget("n"))
    #expect(try await device.queued().allSatisfy { $0.state == .outcomeUnknown })
    for write in try await device.queued() { try await device.engine.discard(write.id) }
    #expect(try await device.queued().isEmpty)
    #expect(try await device.engine.outcome(of: id) == .discarded)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("n").isEmpty)
    #expect(device.lines.take().last == "n value null")
  }

  /// Rules by which nobody but a known user may write.
  private struct KnownWriters: AccessRules {
    func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool { true }
    func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool {
      context.auth != nil
    }
  }

  @Test(
    arguments: Store.durable, [UnknownOutcome.sendAgain, .leaveToApp])
  func
    `What the server refused for want of a token waits as before, also when that cannot be stored`(
      _ store: Store, _ policy: UnknownOutcome
    ) async throws
  {
    let world = try World(
      ServerConfiguration(authenticator: SignIn.table(["alice"]), rules: KnownWriters()))
    let signIn = SignIn("alice")
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.unknownOutcome = policy
      $0.tokenProvider = signIn
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    for name in ["one", "two"] { device.set("n", Self.increment, name) }
    await world.waitUntilIdle()
    #expect(try await standing(device) == ["sent 1", "sent 1"])
    signIn.hold()
    script.fail(.init(.full, "The disk is full: make room."), at: "setState")
    device.transport.expireTokens()
    device.transport.release()
    await world.waitUntilIdle()
    #expect(try await standing(device) == ["queued 1", "queued 1"])
    script.fail(nil)
    let first = try #require(try await device.queued().first)
    try await device.engine.discard(first.id)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["one discarded"])

    // It is known for the next run, too.
    signIn.stopHolding()
    signIn.releaseAll()
    disconnect(device)
    await device.restart(isOnline: false)
    #expect(try await standing(device) == ["queued 1"])
    device.engine.goOnline()
    await world.waitUntilIdle()
    await world.pass(60_000)
    #expect(world.data("n") == json("1"))
    #expect(try await device.queued().isEmpty)
  }

  @Test(arguments: [Store.log, .lmdb], [UnknownOutcome.sendAgain, .leaveToApp])
  func `An increment that is marked when another user signs in waits for its own`(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws {
    let writers = Writers()
    let world = try World(
      ServerConfiguration(authenticator: SignIn.table(["alice", "bob"]), rules: writers))
    let signIn = SignIn("alice")
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.unknownOutcome = policy
      $0.tokenProvider = signIn
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    script.holdHardening()
    device.set("n", Self.increment, "one")
    try await deliver(world, device)
    signIn.set("bob")
    device.engine.refreshToken()
    try await deliver(world, device)
    #expect(try await standing(device) == [])
    script.releaseHardening()
    await world.waitUntilIdle()
    #expect(writers.all == [])

    disconnect(device)
    signIn.set("alice")
    device.engine.refreshToken()
    await world.waitUntilIdle()
    #expect(try await standing(device) == ["queued 0"])
    device.transport.isReachable = true
    await world.pass(60_000)
    #expect(writers.all == ["alice /n"] && world.data("n") == json("1"))
    #expect(device.lines.take() == ["one done"])
  }

  @Test(arguments: [Store.log, .lmdb], [UnknownOutcome.sendAgain, .leaveToApp])
  func `An increment that is marked when the token expires waits for another one`(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws {
    let world = try World(
      ServerConfiguration(authenticator: SignIn.table(["alice"]), rules: KnownWriters()))
    let signIn = SignIn("alice")
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.unknownOutcome = policy
      $0.tokenProvider = signIn
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    script.holdHardening()
    device.set("n", Self.increment, "one")
    try await deliver(world, device)
    signIn.hold()
    device.transport.expireTokens()
    try await deliver(world, device)
    script.releaseHardening()
    await world.waitUntilIdle()
    #expect(try await standing(device) == ["queued 0"])
    signIn.releaseAll()
    await world.waitUntilIdle()
    await world.pass(60_000)
    #expect(world.data("n") == json("1"))
    #expect(device.lines.take() == ["one done"])
  }

  @Test(arguments: Store.durable, [UnknownOutcome.sendAgain, .leaveToApp])
  func `Whether a process that was killed behind the mark had sent is not known`(
    _ store: Store, _ policy: UnknownOutcome
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, canDie: true) {
      $0.unknownOutcome = policy
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    script.holdHardening()
    for _ in 0..<2 { device.set("n", Self.increment) }
    try await deliver(world, device)
    #expect(try await standing(device) == ["queued 0", "queued 0"])
    device.life.end()
    script.releaseHardening()
    await device.rise(isOnline: false)
    let waiting = try await device.queued()
    #expect(waiting.map(\.state) == [.outcomeUnknown, .outcomeUnknown])
    try await device.engine.discard(#require(waiting.first?.id))
    device.engine.goOnline()
    await world.waitUntilIdle()
    switch policy {
    case .sendAgain: #expect(try await device.queued().isEmpty)
    case .leaveToApp:
      #expect(world.data("n").isEmpty)
      try await device.engine.retry(#require(waiting.last?.id))
      await world.waitUntilIdle()
    }
    #expect(world.data("n") == json("1"))
  }
}
