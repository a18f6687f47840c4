import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferTree
import Testing

@testable import Conifer
@testable import ConiferSync

/// What is kept synced, by the list of the reference (section 12, FKeepSynced).
@Suite struct PinTests {
  @Test(arguments: Store.allCases)
  func `Pinning again and again is one listen, which ends with one unpinning`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    for _ in 0..<3 { device.engine.setPinned(true, QueryTarget("a")) }
    await world.waitUntilIdle()
    #expect(device.transport.counts.listens == 1)
    device.engine.setPinned(false, QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(device.transport.counts.unlistens == 1)
    #expect(device.lines.take() == [])
  }

  @Test(arguments: Store.allCases)
  func `A pin outlives the observers at its place, and they outlive it`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    device.engine.setPinned(true, QueryTarget("a"))
    let id = device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    device.engine.stopObserving(id)
    device.listen("b", QueryTarget("a"), .init(.value))
    await device.idle()
    device.engine.stopObservingAll(QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(device.transport.counts.unlistens == 0)
    world.serverSets("a", #"{"b":1}"#)
    await world.waitUntilIdle()
    // The pin has it: told at once, before anything is delivered.
    device.listen("c", QueryTarget("a/b"), .init(.value))
    await device.idle()
    #expect(device.lines.take() == ["a value null", "b value null", "c value 1"])
    device.engine.setPinned(false, QueryTarget("a"))
    await world.waitUntilIdle()
    world.serverSets("a", #"{"b":2}"#)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["c value 2"])
  }

  @Test(arguments: Store.durable)
  func `A pin of a run before downloads again without being asked, with its window`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("l", #"{"a":1,"b":2,"c":3}"#)
    let two = QueryTarget("l", try QuerySpec.default.limited(toLast: 2))
    let device = world.device(store)
    device.engine.setPinned(true, two)
    device.engine.setPinned(true, QueryTarget("p"))
    await world.waitUntilIdle()
    await device.restart()
    world.serverSets("l/d", "4")
    world.serverSets("p", "5")
    await world.waitUntilIdle()
    #expect(device.transport.counts.listens == 2)
    await device.restart(isOnline: false)
    device.listen("two", two, .init(.value))
    device.listen("p", QueryTarget("p"), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"two value {"c":3,"d":4}"#, "p value 5"])
    device.engine.setPinned(false, two)
    device.engine.setPinned(false, QueryTarget("p"))
    await world.waitUntilIdle()
    await device.restart()
    await world.waitUntilIdle()
    #expect(device.transport.counts.listens == 0)
  }

  @Test(arguments: Store.durable)
  func `Pinned data is not read at opening, but when there is a connection`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("p", #"{"a":1}"#)
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.engine.setPinned(true, QueryTarget("p"))
    await world.waitUntilIdle()
    await device.engine.close()
    script.reset()
    await device.restart(isOnline: false)
    // An app that pins at each start asks for no more.
    device.engine.setPinned(true, QueryTarget("p"))
    device.set("x", "1")
    await world.waitUntilIdle()
    #expect(script.counts.cacheReads == 0)
    world.serverSets("p/b", "2")
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(script.counts.cacheReads > 0)
    #expect(device.transport.counts.listens == 1)
    await device.restart(isOnline: false)
    device.listen("p", QueryTarget("p"), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"p value {"a":1,"b":2}"#])
  }

  @Test(arguments: Store.allCases)
  func `Different queries at one path are pinned apart, and the root can be`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    let (one, two) = (
      QueryTarget("l", try QuerySpec.default.limited(toFirst: 1)),
      QueryTarget("l", try QuerySpec.default.limited(toLast: 1))
    )
    device.engine.setPinned(true, one)
    device.engine.setPinned(true, two)
    await world.waitUntilIdle()
    #expect(device.transport.counts.listens == 2)
    device.engine.setPinned(false, one)
    await world.waitUntilIdle()
    #expect(device.transport.counts.unlistens == 1)
    device.engine.setPinned(true, QueryTarget(.root))
    await world.waitUntilIdle()
    world.serverSets("x", "1")
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.listen("x", QueryTarget("x"), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["x value 1"])
  }

  @Test(arguments: Store.durable)
  func `Pins that cannot be read at the first connection are read at the next`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.engine.setPinned(true, QueryTarget("p"))
    device.engine.setPinned(true, QueryTarget("gone"))
    device.engine.setPinned(true, QueryTarget("early"))
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    script.change { $0.pinFailure = StoreError(.io, "The disk does not answer.") }
    device.engine.setPinned(true, QueryTarget("q"))
    // What cannot be stored holds all the same until the next start.
    script.fail(StoreError(.io, "The disk does not answer."), at: "unpin")
    device.engine.setPinned(false, QueryTarget("early"))
    device.engine.goOnline()
    await world.waitUntilIdle()
    device.engine.setPinned(false, QueryTarget("gone"))
    await world.waitUntilIdle()
    script.fail(nil)
    // What was pinned since does not wait for the others.
    #expect(device.transport.counts.listens == 1)
    script.change { $0.pinFailure = nil }
    device.engine.goOffline()
    await world.waitUntilIdle()
    world.serverSets("p", "5")
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(device.transport.counts.listens == 3)
    device.engine.goOffline()
    device.listen("p", QueryTarget("p"), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["p value 5"])
    #expect(await device.engine.pinListeners.count == 2)
  }
}
