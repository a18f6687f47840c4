import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Testing

@testable import Conifer
@testable import ConiferSync

/// What the cache makes of the device's own acknowledged writes where nobody listens.
@Suite struct AcknowledgementTests {
  /// Delivers messages until the device was told something, and no more: not the answer to the read
  /// that follows an acknowledgement.
  private func deliver(_ world: World, _ device: Device, until line: String) async {
    repeat { await device.idle() } while !device.lines.all.contains(line) && world.pump.step()
  }

  @Test(arguments: Store.durable)
  func `An increment that only the server can compute ends what is known completely there`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    await world.waitUntilIdle()
    device.set("n/a", "1", "one")
    await world.waitUntilIdle()
    device.set("n/a", #"{".sv":{"increment":5}}"#, "two")
    await deliver(world, device, until: "two done")
    #expect(device.lines.take() == ["one done", "two done"])
    #expect(world.data("n/a") == json("6"))
    await device.restart(isOnline: false)
    device.listenToValue("n", QueryTarget("n/a"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [])
  }

  @Test(arguments: Store.allCases)
  func `What holds an increment is complete again when the server has told its value`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("room", #"{"a":1,"n":2,"m":3}"#)
    let device = world.device(store)
    let id = device.listen("room", QueryTarget("room"), .init(.value))
    await world.waitUntilIdle()
    device.engine.stopObserving(id)
    await world.waitUntilIdle()
    _ = device.lines.take()
    device.set("room/n", #"{".sv":{"increment":5}}"#, "n")
    device.set("room/m", #"{".sv":{"increment":1}}"#, "m")
    await deliver(world, device, until: "m done")
    // One of them is not known yet.
    device.engine.goOffline()
    device.listen("early", QueryTarget("room"), .init(.value), isOnce: true)
    await device.idle()
    #expect(device.lines.take() == ["n done", "m done"])
    device.engine.goOnline()
    await world.waitUntilIdle()
    _ = device.lines.take()
    device.set("room/n", #"{".sv":{"increment":1}}"#)
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.listen("room", QueryTarget("room"), .init(.value), isOnce: true)
    await device.idle()
    #expect(device.lines.take() == [#"room value {"a":1,"m":4,"n":8}"#])
  }

  @Test(arguments: Store.durable)
  func `A long queue that drains leaves its end in the cache, and what the app listened to`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("room", #"{"a":1}"#)
    let device = world.device(store)
    let id = device.listen("room", QueryTarget("room"), .init(.value))
    await world.waitUntilIdle()
    device.engine.stopObserving(id)
    device.engine.goOffline()
    device.set("room/b", "2")
    for number in 0..<250 { device.set(Path("w/k\(number)"), "\(number)") }
    await device.idle()
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("w").childCount == 250)
    let backend = try #require(await device.engine.backend)
    let lane = try #require(await device.engine.lane)
    let queries = try backend.read { (view) throws(StoreError) in
      try view.trackedQueries(lane.tree, after: nil, limit: 1000)
    }
    #expect(queries.count < 110)
    await device.restart(isOnline: false)
    device.listenToValue("room", QueryTarget("room"))
    device.listenToValue("first", QueryTarget("w/k0"))
    device.listenToValue("last", QueryTarget("w/k249"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"room value {"a":1,"b":2}"#, "last value 249"])
  }

  @Test(arguments: Store.durable)
  func `A long queue of times that drains asks for few of them`(_ store: Store) async throws {
    let world = try World()
    world.serverSets("room", #"{"a":1}"#)
    world.serverSets("old", #"{"a":1}"#)
    let device = world.device(store)
    let ids = [Path("room"), "old"].map { device.listen("v", QueryTarget($0), .init(.value)) }
    await world.waitUntilIdle()
    for id in ids { device.engine.stopObserving(id) }
    device.engine.goOffline()
    let now = #"{".sv":"timestamp"}"#
    for number in 0..<125 { device.set(Path("room/k\(number)"), now) }
    for number in 0..<125 { device.set(Path("new/k\(number)"), now) }
    await device.idle()
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("room").childCount == 126 && world.data("new").childCount == 125)
    let gets = sent.all.filter { if case .get = $0 { true } else { false } }
    #expect((1...100).contains(gets.count))
    await device.restart(isOnline: false)
    _ = device.lines.take()
    device.listenToValue("old", QueryTarget("old"))
    device.listenToValue("room", QueryTarget("room"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"old value {"a":1}"#], "the room lacks what was not asked for")
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(device.lines.take().last == "room value \(world.data("room").text)")
  }

  @Test(arguments: Store.durable)
  func `A set and an increment that are answered together leave nothing old behind`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.set("n", #"{"a":1}"#, "one")
    device.set("n/a", #"{".sv":{"increment":5}}"#, "two")
    device.engine.goOnline()
    await deliver(world, device, until: "two done")
    #expect(device.lines.take() == ["one done", "two done"])
    await device.restart(isOnline: false)
    device.listenToValue("n", QueryTarget("n/a"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [])
  }

  @Test(arguments: Store.allCases)
  func `A child that was written unobserved is not missing from a query that was complete`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("rooms", #"{"a":1,"b":2}"#)
    let device = world.device(store)
    let two = QueryTarget("rooms", try QuerySpec.default.limited(toLast: 2))
    let id = device.listen("two", two, .init(.value))
    await world.waitUntilIdle()
    device.engine.stopObserving(id)
    await world.waitUntilIdle()
    device.set("rooms/zzz", "3", "w")
    await world.waitUntilIdle()
    _ = device.lines.take()
    device.engine.goOffline()
    device.listen("two", two)
    await world.waitUntilIdle()
    let told = device.lines.take()
    #expect(told.contains { $0.contains("added zzz 3") })
    #expect(!told.contains { $0.contains("value") })
  }

  @Test(arguments: Store.durable)
  func `An acknowledgement that is stored late puts no older data back`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    device.set("a", "1", "one")
    await device.idle()
    script.fail(StoreError(.full, "The disk is full: make room."))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["one done"])
    world.serverSets("a", "2")
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(device.lines.take().last == "a value 2")
    script.fail(nil)
    device.set("b", "3", "two")
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [])
  }

  @Test(arguments: [Store.memory])
  func `A transaction over a write that the app discards runs again`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    device.listenToValue("n", QueryTarget("n"))
    await world.waitUntilIdle()
    device.engine.goOffline()
    let write = device.set("n", "10")
    device.add(1, at: "n", "t")
    await world.waitUntilIdle()
    try await device.engine.discard(#require(try await write.id))
    await world.waitUntilIdle()
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("n") == json("1"))
    #expect(device.lines.take().contains("t committed 1"))
  }
}
