import ConiferQuery
import ConiferTree
import ConiferWire
import Synchronization
import Testing

@testable import Conifer
@testable import ConiferServer
@testable import ConiferSync

/// In which order things are told and sent.
@Suite struct OrderTests {
  @Test(arguments: Store.allCases)
  func `An answer is held until fresh data covers what it uncovers`(_ store: Store) async throws {
    let world = try World()
    world.serverSets("a", "1")
    let device = world.device(store)
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    device.set("a", "2", "w")
    await device.idle()
    // The server has it, the answer is lost.
    device.transport.loseAnswer()
    await world.waitUntilIdle()
    await world.pass(30_000)
    // Never back to 1 in between.
    #expect(device.lines.take() == ["a value 1", "a value 2", "w done"])
    #expect(world.data("a") == json("2"))
  }

  @Test(arguments: Store.allCases)
  func `An onDisconnect issued before a write reaches the server before it`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    for number in 0..<200 { device.set(Path("k\(number)"), "1") }
    device.engine.onDisconnect(.put("online", json("false")), completion: nil)
    device.set("online", "true")
    await world.waitUntilIdle()
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    let all = sent.all
    let issued = all.firstIndex { if case .onDisconnectPut = $0 { true } else { false } }
    let written = all.firstIndex { if case .put("online", _, _) = $0 { true } else { false } }
    let first = all.firstIndex { if case .put("k199", _, _) = $0 { true } else { false } }
    #expect(try #require(issued) < #require(written))
    #expect(try #require(first) < #require(issued))
  }

  @Test(arguments: Store.allCases)
  func `No event of a listener is told after the app ended it on the callback queue`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    let (engine, lines) = (device.engine, device.lines)
    let id = ListenerID.app(1000)
    engine.observe(id, QueryTarget("l"), .init(.childAdded)) { event in
      lines.add("added \(event.key ?? "?")")
      engine.stopObserving(id)
    } cancel: { _ in
    }
    await world.waitUntilIdle()
    world.serverSets("l", #"{"a":1,"b":2,"c":3}"#)
    await world.waitUntilIdle()
    #expect(lines.take() == ["added a"])
  }

  @Test(arguments: Store.allCases)
  func `A single event is told once, and its listener ends`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    device.listen("once", QueryTarget("l"), .init(.childAdded), isOnce: true)
    await world.waitUntilIdle()
    world.serverSets("l", #"{"a":1,"b":2}"#)
    await world.waitUntilIdle()
    world.serverSets("l/c", "3")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["once added a 1"])
    #expect(device.transport.counts.unlistens == 1)
  }

  @Test(arguments: Store.allCases)
  func `Writes that share a commit show one after the other`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    device.listen("n", QueryTarget("n"), .init(.value))
    await world.waitUntilIdle()
    device.set("n", "1", "one")
    device.set("n", #"{".sv":{"increment":1}}"#, "two")
    device.set("n", "null", "three")
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        "n value null", "n value 1", "n value 2", "n value null", "one done", "two done",
        "three done",
      ])
  }

  @Test(arguments: Store.allCases)
  func `An acknowledged write that somebody replaced before the listen is not kept`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("b/1", "1")
    let device = world.device(store)
    device.listen("one", QueryTarget("b/1"), .init(.value))
    await world.waitUntilIdle()
    device.set("b/2", "54")
    device.listen("b", QueryTarget("b"), .init(.value))
    await device.idle()
    // The write alone.
    world.pump.step()
    #expect(world.data("b") == json(#"{"1":1,"2":54}"#))
    world.serverSets("b/2", "null")
    await world.waitUntilIdle()
    // The data has the hash of what was known, so it is not sent.
    #expect(device.transport.counts.overwrites == 1)
    #expect(device.lines.take().last == #"b value {"1":1}"#)
  }

  @Test(arguments: Store.allCases)
  func `A refused leaf is taken back though a deletion below it waits`(_ store: Store) async throws
  {
    let world = try World()
    let device = world.device(store)
    device.listen("b", QueryTarget("b"), .init(.value))
    await world.waitUntilIdle()
    device.transport.refuse(next: 1)
    device.set("b/2", "54")
    device.set("b/2/x", "null")
    device.set("b/1", "1")
    await world.waitUntilIdle()
    #expect(world.data("b") == json(#"{"1":1}"#))
    #expect(device.lines.take().last == #"b value {"1":1}"#)
  }

  @Test func `A deletion that waits below a leaf counts for what the server puts there`()
    async throws
  {
    let world = try World()
    world.serverSets("b", "107")
    let device = world.device(.memory)
    device.listen("b", QueryTarget("b"), .init(.value))
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    device.set("b/2/x", "null")
    await world.waitUntilIdle()
    world.serverSets("b/2/x", "121")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["b value 107", "b value null"])
    device.transport.release()
    await world.waitUntilIdle()
    #expect(world.data("b").isEmpty)
    #expect(device.lines.take() == [])
  }

  @Test(arguments: Store.allCases)
  func `An app that goes offline at once never connects`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    await world.waitUntilIdle()
    #expect(device.transport.state.withLock { $0.lastConnection } == 0)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(device.transport.state.withLock { $0.lastConnection } == 1)
  }
}
