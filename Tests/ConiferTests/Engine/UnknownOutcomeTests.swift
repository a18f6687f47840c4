import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferTree
import Testing

@testable import Conifer
@testable import ConiferSync

/// Increments that were sent, and whose answer never came.
@Suite struct UnknownOutcomeTests {
  private static let increment = #"{".sv":{"increment":1}}"#

  /// A device with an increment that the server did, and of which it heard no answer.
  private func doubt(_ store: Store, _ policy: UnknownOutcome) async throws -> (World, Device) {
    let world = try World()
    let device = world.device(store) { $0.unknownOutcome = policy }
    device.listenToValue("n", QueryTarget("n"))
    await world.waitUntilIdle()
    device.transport.loseAnswer()
    device.set("n", Self.increment, "one")
    await device.idle()
    return (world, device)
  }

  @Test(arguments: Store.allCases)
  func `An increment of unknown outcome is sent again, unless the app wants otherwise`(
    _ store: Store
  ) async throws {
    let (world, device) = try await doubt(store, .sendAgain)
    await world.waitUntilIdle()
    await world.pass(2_000)
    #expect(world.data("n") == json("2"))
    #expect(device.lines.all.last == "one done" || device.lines.all.contains("one done"))
  }

  @Test(arguments: Store.allCases)
  func `An increment that is left to the app counts once, and what follows it goes on`(
    _ store: Store
  ) async throws {
    let (world, device) = try await doubt(store, .leaveToApp)
    device.set("m", "7", "two")
    await world.waitUntilIdle()
    await world.pass(2_000)
    #expect(world.data("n") == json("1"))
    #expect(world.data("m") == json("7"))
    let told = device.lines.take()
    #expect(told.contains("one outcome-unknown") && told.contains("two done"))
    #expect(told.last { $0.hasPrefix("n ") } == "n value 1")
    let waiting = try await device.queued()
    guard case .rejected(let error) = waiting.first?.state else {
      Issue.record("it does not wait for the app: \(waiting)")
      return
    }
    #expect(waiting.count == 1 && error.code == .outcomeUnknown)
    // The app has looked, and decides.
    let id = try #require(waiting.first?.id)
    try await device.engine.retry(id)
    await world.waitUntilIdle()
    #expect(world.data("n") == json("2"))
    #expect(try await device.engine.outcome(of: id) == .acknowledged)
  }

  @Test(arguments: Store.durable)
  func `What a process that ended had sent is left to the app too, and what it had not is sent`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store) { $0.unknownOutcome = .leaveToApp }
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    for _ in 0..<3 { device.set("n", Self.increment) }
    device.update("m", [("a", Self.increment), ("b", "1")])
    await world.waitUntilIdle()
    #expect(try await device.queued().map(\.state) == [.sent, .sent, .sent, .sent])
    // Nobody knows that they did not arrive.
    await device.restart(isOnline: false)
    for _ in 0..<70 { device.set("k", Self.increment) }
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("n").isEmpty && world.data("m").isEmpty)
    #expect(world.data("k") == json("70"))
    let waiting = try await device.engine.writes(after: nil, limit: 10, rejectedOnly: true)
    #expect(waiting.map { $0.path.description } == ["/n", "/n", "/n", "/m"])
    for write in waiting { try await device.engine.discard(write.id) }
    #expect(try await device.queued().isEmpty)
  }

  @Test(arguments: [Store.memory])
  func `What the server did not look at for want of a token is not in doubt`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store) { $0.unknownOutcome = .leaveToApp }
    device.transport.refuseConnections(next: 1)
    device.set("n", Self.increment, "one")
    await world.waitUntilIdle()
    await world.pass(2_000)
    #expect(world.data("n") == json("1"))
    #expect(device.lines.take() == ["one done"])
  }

  @Test(arguments: Store.allCases)
  func `When the disk is full a doubtful increment is not sent again either`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.unknownOutcome = .leaveToApp
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    device.transport.loseAnswer()
    device.set("n", Self.increment, "one")
    await device.idle()
    script.fail(.init(.full, "The disk is full: make room."))
    await world.waitUntilIdle()
    await world.pass(2_000)
    #expect(device.lines.take() == ["one outcome-unknown"])
    script.fail(nil)
    device.set("m", "1", "two")
    await world.waitUntilIdle()
    #expect(world.data("n") == json("1") && world.data("m") == json("1"))
    #expect(try await device.queued().count == 1)
  }
}
