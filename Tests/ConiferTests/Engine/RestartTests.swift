import ConiferQuery
import ConiferServer
import ConiferTree
import Testing

@testable import Conifer
@testable import ConiferSync

/// What survives the end of a process, by the list of the reference (section 12, FPersist).
@Suite struct RestartTests {
  @Test(arguments: Store.durable)
  func `Offline writes of a run before reach the server once, in order`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    device.set("a", #"{"x":1}"#)
    device.set("a/y", "2")
    device.set("a/.priority", "7")
    device.update("a", [("z", "3"), ("x", "null")])
    await world.waitUntilIdle()
    await device.restart()
    let sent = Sent(device)
    await world.waitUntilIdle()
    #expect(sent.paths == ["a", "a/y", "a/.priority", "a"])
    #expect(world.data("a") == json(#"{"y":2,"z":3,".priority":7}"#))
    #expect(try await device.queued().isEmpty)
    await device.restart()
    let again = Sent(device)
    await world.waitUntilIdle()
    #expect(again.paths == [])
  }

  @Test(arguments: Store.durable)
  func `Offline writes show again after a restart without a connection`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    device.set("a", #"{"x":1}"#)
    device.set("a/y", "2")
    device.update("a", [("z", "3"), ("x", "null")])
    device.set("n", "5")
    device.set("n", #"{".sv":{"increment":2}}"#)
    device.set("n", #"{".sv":{"increment":3}}"#)
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    device.listen("a", QueryTarget("a"), .init(.value))
    device.listen("y", QueryTarget("a/y"), .init(.value))
    device.listen("n", QueryTarget("n"), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"a value {"y":2,"z":3}"#, "y value 2", "n value 10"])
  }

  @Test(arguments: Store.durable)
  func `Eleven sets keep their order`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    for number in 1...11 { device.set("a", "\(number)") }
    await world.waitUntilIdle()
    await device.restart()
    await world.waitUntilIdle()
    #expect(world.data("a") == json("11"))
  }

  @Test(arguments: Store.durable)
  func `What was cached is read offline, at its place and below`(_ store: Store) async throws {
    let world = try World()
    world.serverSets("a", #"{"b":{"c":1},"d":2}"#)
    let device = world.device(store)
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    device.listen("a", QueryTarget("a"), .init(.value))
    device.listen("c", QueryTarget("a/b/c"), .init(.value), isOnce: true)
    device.listen("above", QueryTarget("/"), .all)
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        #"a value {"b":{"c":1},"d":2}"#, "c value 1", #"above added a {"b":{"c":1},"d":2}"#,
      ])
  }

  @Test(arguments: Store.durable)
  func `A limit shows its own window offline, and no more`(_ store: Store) async throws {
    let world = try World()
    world.serverSets("l", #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}"#)
    let limits = try [2, 4, 6].map { try QuerySpec.default.limited(toLast: $0) }
    let device = world.device(store)
    device.listen("four", QueryTarget("l", limits[1]), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"four value {"c":3,"d":4,"e":5,"f":6}"#])
    await device.restart(isOnline: false)
    device.listen("four", QueryTarget("l", limits[1]), .init(.value))
    device.listen("two", QueryTarget("l", limits[0]))
    device.listen("six", QueryTarget("l", limits[2]))
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        #"four value {"c":3,"d":4,"e":5,"f":6}"#, "two added e 5", "two added f 6 after e",
        "six added c 3", "six added d 4 after c", "six added e 5 after d", "six added f 6 after e",
      ])
    device.engine.goOnline()
    await world.waitUntilIdle()
    let told = device.lines.take()
    #expect(told.filter { $0.hasPrefix("two") } == [#"two value {"e":5,"f":6}"#])
    #expect(
      told.filter { $0.hasPrefix("six") } == [
        "six added a 1", "six added b 2 after a",
        #"six value {"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}"#,
      ])
  }

  @Test(arguments: Store.durable)
  func `Data that the server deleted meanwhile is gone after reconnecting`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("a", "1")
    let device = world.device(store)
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    world.serverSets("a", "null")
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 1", "a value null"])
  }

  @Test(arguments: Store.durable)
  func `Unchanged data is not sent again, and one new item is one range merge`(
    _ store: Store
  ) async throws {
    let world = try World()
    let text = String(repeating: "x", count: 100)
    let items = (0..<50).map { #""k\#(100 + $0)":{"text":"\#(text)"}"# }.joined(separator: ",")
    world.serverSets("list", "{\(items)}")
    let device = world.device(store)
    device.listen("l", QueryTarget("list"), .init(.childAdded))
    await world.waitUntilIdle()
    #expect(device.lines.take().count == 50)

    await device.restart()
    device.listen("l", QueryTarget("list"), .init(.childAdded))
    await world.waitUntilIdle()
    #expect(device.lines.take().count == 50)
    #expect(device.transport.counts.dataUpdates == 0)
    #expect(device.transport.counts.rangeMerges == 0)

    await device.restart(isOnline: false)
    device.listen("l", QueryTarget("list"), .init(.childAdded))
    await world.waitUntilIdle()
    world.serverSets("list/k120b", #"{"text":"new"}"#)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(device.lines.take().count == 51)
    #expect(device.transport.counts.dataUpdates == 0)
    #expect(device.transport.counts.rangeMerges == 1)

    await device.restart(isOnline: false)
    device.listen("l", QueryTarget("list"), .init(.childAdded))
    await world.waitUntilIdle()
    #expect(device.lines.take().count == 51)
  }

  @Test(arguments: Store.durable)
  func `The server's answer to a write of a run before is found by its id`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    let receipts = (1...3).map { device.set(Path("k\($0)"), "\($0)") }
    await world.waitUntilIdle()
    var ids: [WriteReceipt.ID] = []
    for receipt in receipts { ids.append(try #require(try await receipt.id)) }
    await device.restart()
    device.transport.refuse(next: 1)
    await world.waitUntilIdle()
    guard case .rejected(let error) = try await device.engine.outcome(of: ids[0]) else {
      Issue.record("not refused")
      return
    }
    #expect(error.code == .permissionDenied)
    #expect(try await device.engine.outcome(of: ids[1]) == .acknowledged)
    await device.restart(isOnline: false)
    #expect(try await device.engine.outcome(of: ids[2]) == .acknowledged)
    try await device.engine.discard(ids[0])
    #expect(try await device.engine.outcome(of: ids[0]) == .discarded)
  }

  @Test(arguments: Store.durable)
  func `An acknowledged write without listeners is read offline`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    device.set("a/b", "1")
    device.set("n", #"{".sv":{"increment":2}}"#)
    world.serverSets("n", "40")
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    device.listen("b", QueryTarget("a/b"), .init(.value))
    // Not what the client would have guessed, but what the server says.
    device.listen("n", QueryTarget("n"), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["b value 1", "n value 42"])
  }
}
