import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Foundation
import TestSupport
import Testing

@testable import Conifer

/// What is kept of writes that wait, and what is told of them.
@Suite struct FollowingTests {
  private struct Weak {
    weak var receipt: WriteReceipt?
  }

  @Test(arguments: Store.allCases, [false, true])
  func `Of a write whose receipt nobody holds nothing is left in memory`(
    _ store: Store, _ drops: Bool
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false) { $0.dropsSupersededWrites = drops }
    let count = ProcessInfo.processInfo.environment["CONIFER_WRITES"].flatMap { Int($0) } ?? 1_000
    var receipts: [Weak] = []
    for number in 0..<count {
      receipts.append(Weak(receipt: device.set(Path("w/\(number / 3 % 7)"), "\(number)")))
    }
    let held = device.set("held", "1")
    var dropped: WriteReceipt? = device.set("dropped", "1")
    device.set("told", "1", "told")
    _ = try await dropped?.id
    await device.idle()
    #expect(receipts.count { $0.receipt != nil } == 0)
    #expect(try await device.engine.writeTotals().pending >= 10)
    dropped = nil
    #expect(await followers(of: device) == 2)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(try await held.outcome == .acknowledged)
    #expect(device.lines.take() == ["told done"])
    #expect(await followers(of: device) == 0)
  }

  @Test(arguments: Store.allCases)
  func `An update of nothing is done at once and queues nothing`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    let receipt = device.update("a", [], "told")
    #expect(try await receipt.outcome == .acknowledged)
    #expect(try await receipt.id == nil)
    await device.idle()
    #expect(device.lines.take() == ["told done"])
    #expect(try await device.queued().isEmpty)
  }

  @Test(arguments: Store.allCases)
  func `An update of nothing is as durable as the writes before it`(_ store: Store) async throws {
    let script = ScriptedBackend.Script()
    let world = try World()
    let device = world.device(store, isOnline: false) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    let strongest = try #require(await device.engine.backend?.traits.store.strongest)
    #expect(try await device.update("a", []).durable == strongest)
    script.holdHardening()
    let first = device.set("a", "1")
    let told = Gathered<String>()
    let waiting = [("write", first), ("nothing", device.update("a", []))].map { name, receipt in
      Task { told.add("\(name) \(try await receipt.durable)") }
    }
    for _ in 0..<3 { _ = try await device.engine.writeTotals() }
    if strongest == .power { #expect(told.all.isEmpty) }
    script.releaseHardening()
    for task in waiting { try await task.value }
    #expect(Set(told.all) == ["write \(strongest)", "nothing \(strongest)"])
  }

  private func followers(of device: Device) async -> Int {
    await device.engine.ask { $0.writes.progress.followedCount }
  }

  private static let writes: [@Sendable (Device) -> Void] = [
    { _ = $0.set("a", "1") }, { _ = $0.update("a", [("x", "1")]) },
    { _ = $0.set("a", #"{".sv":{"increment":1}}"#) },
  ]

  @Test(arguments: Store.allCases, 0..<3)
  func `The sendings of every write are counted`(_ store: Store, _ write: Int) async throws {
    let world = try World()
    let device = world.device(store)
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    Self.writes[write](device)
    await world.waitUntilIdle()
    #expect(try await device.queued().map(\.attempts) == [1], "while it is under way")
    device.transport.loseAnswer()
    device.transport.release()
    await world.waitUntilIdle()
    for round in 1...3 {
      #expect(try await device.queued().map(\.attempts) == [round], "between two connections")
      guard round < 3 else { break }
      device.transport.loseAnswer()
      await world.pass(5_000)
    }
    await device.restart(isOnline: false)
    let isKept = store != .memory
    #expect(try await device.queued().map(\.attempts) == (isKept ? [3] : []))
    device.transport.refuse(next: 1)
    device.engine.goOnline()
    await world.waitUntilIdle()
    let attempts = try await device.queued().map(\.attempts)
    #expect(attempts == (isKept ? [4] : []), "with the one that was refused")
  }
}
