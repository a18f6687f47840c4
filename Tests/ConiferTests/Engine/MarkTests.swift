import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferTree
import Testing

@testable import Conifer
@testable import ConiferSync

/// That an increment which is left to the app counts at most once also where the disk fails.
@Suite struct MarkTests {
  private static let increment = #"{".sv":{"increment":1}}"#

  /// What fails when it is noted that an increment is sent.
  enum Failure: CaseIterable, Sendable {
    case full, poisoned, unhardened
  }

  private func device(
    _ store: Store
  ) async throws -> (World, Device, ScriptedBackend.Script) {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.unknownOutcome = .leaveToApp
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    return (world, device, script)
  }

  @Test(arguments: Store.durable, Failure.allCases)
  func `An increment that cannot be marked is not sent, nor is what follows it`(
    _ store: Store, _ failure: Failure
  ) async throws {
    let (world, device, script) = try await device(store)
    switch failure {
    case .full: script.fail(.init(.full, "The disk is full: make room."), at: "setState")
    case .poisoned: script.fail(.init(.poisoned, "The disk failed."), at: "setState")
    case .unhardened:
      script.change { $0.hardenFailure = .init(.io, "The disk does not sync.") }
    }
    device.transport.loseAnswer()
    device.set("n", Self.increment, "one")
    device.set("m", "1", "two")
    await world.waitUntilIdle()
    for _ in 0..<3 { await world.pass(31_000) }
    #expect(world.data.isEmpty)
    #expect(try await device.queued().count == 2)
    #expect(device.lines.take() == [])

    script.fail(nil)
    script.change { $0.hardenFailure = nil }
    for _ in 0..<3 { await world.pass(31_000) }
    // It was done, and the answer was lost.
    #expect(world.data("n") == json("1") && world.data("m") == json("1"))
    #expect(device.lines.take().sorted() == ["one outcome-unknown", "two done"])
    await device.restart()
    await world.waitUntilIdle()
    #expect(world.data("n") == json("1"))
    #expect(try await device.queued().count == 1)
  }

  @Test(arguments: Store.durable, [false, true])
  func `An increment waits until its mark is durable, also on the next connection`(
    _ store: Store, _ breaks: Bool
  ) async throws {
    let (world, device, script) = try await device(store)
    script.holdHardening()
    device.set("n", Self.increment, "one")
    try await deliver(world, device)
    if breaks {
      device.transport.disconnect()
      try await deliver(world, device)
      device.clock.advance(by: 2_000)
      try await deliver(world, device)
      #expect(device.engine.isConnected.current)
    }
    #expect(world.data.isEmpty)
    script.releaseHardening()
    await world.waitUntilIdle()
    #expect(world.data("n") == json("1"))
    #expect(device.lines.take() == ["one done"])
  }

  @Test(arguments: Store.durable)
  func `An increment whose mark failed may be given up`(_ store: Store) async throws {
    let (world, device, script) = try await device(store)
    script.fail(.init(.full, "The disk is full: make room."), at: "setState")
    let receipt = device.set("n", Self.increment, "one")
    device.set("m", "1", "two")
    await world.waitUntilIdle()
    try await device.engine.discard(#require(try await receipt.id))
    await world.waitUntilIdle()
    #expect(world.data == json(#"{"m":1}"#))
    #expect(device.lines.take() == ["one discarded", "two done"])
  }

  /// Delivers messages while something is not made durable.
  private func deliver(_ world: World, _ device: Device) async throws {
    repeat {
      for _ in 0..<3 { _ = try await device.engine.writeTotals() }
    } while world.pump.step()
  }
}
