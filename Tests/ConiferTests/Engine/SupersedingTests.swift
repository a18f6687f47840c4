import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Testing

@testable import Conifer
@testable import ConiferSync

/// Writes that wait, and that the next one replaces.
@Suite struct SupersedingTests {
  private static let increment = #"{".sv":{"increment":1}}"#

  private func device(
    _ world: World, _ store: Store = .memory, isOnline: Bool = false, drops: Bool = true
  ) -> Device {
    world.device(store, isOnline: isOnline) { $0.dropsSupersededWrites = drops }
  }

  @Test(arguments: Store.allCases)
  func
    `Of a place that is set a thousand times offline the last value is sent, if the app wants that`(
      _ store: Store
    ) async throws
  {
    let world = try World()
    let other = world.device(.memory)
    other.listenToValue("n", QueryTarget("n"))
    let device = device(world, store)
    device.listenToValue("n", QueryTarget("n"))
    await world.waitUntilIdle()
    _ = other.lines.take()
    var receipts: [WriteReceipt] = []
    await device.atOnce {
      for number in 1...1000 { receipts.append(device.set("n", "\(number)", "w\(number)")) }
    }
    await device.idle()
    // Local events are those of each.
    #expect(device.lines.take() == (1...1000).map { "n value \($0)" })
    let waiting = try await device.queued()
    #expect(waiting.map(\.id.number) == [1000] && waiting.first?.state == .queued)
    #expect(
      try await receipts[0].outcome == .superseded(by: .init(identity: "", number: 2)))
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(sent.paths == ["n"])
    #expect(world.data("n") == json("1000"))
    #expect(other.lines.take() == ["n value 1000"])
    // Nobody is told that it was saved before it was.
    #expect(device.lines.take() == (1...1000).map { "w\($0) done" })
    for receipt in receipts { try await receipt.acknowledged() }
    #expect(try await receipts[999].outcome == .acknowledged)
  }

  @Test(arguments: Store.allCases)
  func `Each write is sent unless the app wants otherwise`(_ store: Store) async throws {
    let world = try World()
    let device = device(world, store, drops: false)
    for number in 1...20 { device.set("n", "\(number)") }
    await device.idle()
    #expect(try await device.queued().count == 20)
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(sent.paths.count == 20)
  }

  @Test(arguments: Store.durable)
  func `A write of a run before may have been sent, and stays`(_ store: Store) async throws {
    let world = try World()
    let device = device(world, store)
    device.set("a/b", "1")
    device.update("a", [("b", "2"), ("c", "2")])
    device.set("a/b", "3")
    await device.idle()
    // An update is replaced whole or not at all.
    #expect(try await device.queued().map(\.id.number) == [1, 2, 3])
    await device.restart(isOnline: false)
    device.set("a", #"{"b":4}"#)
    await device.idle()
    #expect(try await device.queued().map(\.id.number) == [1, 2, 3, 4])
    let last = device.set("a", #"{"b":5}"#)
    await device.idle()
    #expect(try await device.queued().map(\.id.number) == [1, 2, 3, 5])
    #expect(try await last.id?.number == 5)
    device.listenToValue("a", QueryTarget("a"))
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("a") == json(#"{"b":5}"#))
    #expect(device.lines.take().last == #"a value {"b":5}"#)
    #expect(try await device.queued().isEmpty)
  }

  @Test func `What is issued between two writes keeps both`() async throws {
    let between: [(Device) -> Void] = [
      { _ = $0.set("m", "1") }, { _ = $0.set("n", Self.increment) }, { _ = $0.set("n", "null") },
      { _ = $0.update("n", [("x", "1")]) }, { $0.add(1, at: "m", "t") },
      { $0.engine.onDisconnect(.put("m", json("0")), completion: nil) },
    ]
    for (number, issue) in between.enumerated() {
      let world = try World()
      let device = device(world)
      device.set("n", "1")
      await device.idle()
      issue(device)
      await device.idle()
      let count = try await device.engine.writeTotals().pending
      let receipt = device.set("n", "2")
      await device.idle()
      // An increment and an update of the place are replaced themselves, a deletion is too.
      let isReplaced = (1...3).contains(number)
      #expect(
        try await device.engine.writeTotals().pending == count + (isReplaced ? 0 : 1), "\(number)")
      device.engine.goOnline()
      await world.waitUntilIdle()
      try await receipt.acknowledged()
      #expect(world.data("n") == json("2"), "\(number)")
    }
  }

  @Test(arguments: [increment, "null"])
  func `A set that builds on what was there, or deletes, replaces nothing`(
    _ text: String
  ) async throws {
    let world = try World()
    let device = device(world)
    device.set("n", "1")
    device.set("n", text)
    await device.idle()
    #expect(try await device.queued().count == 2)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("n") == json(text == "null" ? "null" : "2"))
  }

  @Test(arguments: Store.allCases)
  func `What was sent is not superseded`(_ store: Store) async throws {
    let world = try World()
    let device = device(world, store, isOnline: true)
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    let first = device.set("n", "1", "one")
    await device.idle()
    device.set("n", "2", "two")
    await device.idle()
    #expect(try await device.queued().map(\.state) == [.sent, .sent])
    device.transport.release()
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["one done", "two done"])
    #expect(try await first.outcome == .acknowledged)
  }

  @Test(arguments: Store.allCases)
  func `When the server refuses a write, those that it replaced are told so too`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = device(world, store)
    device.listenToValue("n", QueryTarget("n"))
    let old = device.set("n", "1", "one")
    device.set("n", "2", "two")
    device.transport.refuse(next: 1)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        "n value 1", "n value 2", "n value null", "one permission-denied",
        "two permission-denied",
      ])
    #expect(await failure { try await old.acknowledged() }?.code == .permissionDenied)
    #expect(try await device.queued().count == 1)
  }

  @Test(arguments: Store.allCases)
  func `A superseded write of which the store could not be told is not sent all the same`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, isOnline: false) {
      $0.dropsSupersededWrites = true
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.set("n", "1")
    await device.idle()
    script.fail(StoreError(.full, "The disk is full: make room."), at: "finish")
    device.set("n", "2")
    await device.idle()
    // The store holds both; the app is shown the one that counts.
    #expect(try await device.stored() == 2)
    #expect(try await device.engine.writeTotals().pending == 1)
    #expect(try await device.queued().count == 1)
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    script.fail(nil)
    device.set("m", "1")
    await world.waitUntilIdle()
    device.transport.disconnect()
    await world.waitUntilIdle()
    await world.pass(31_000)
    #expect(sent.paths == ["n", "m"])
    #expect(world.data("n") == json("2"))
    #expect(try await device.queued().isEmpty)
  }
}
