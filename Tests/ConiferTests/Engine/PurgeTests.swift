import ConiferQuery
import ConiferServer
import ConiferTree
import Testing

@testable import Conifer
@testable import ConiferSync

/// Giving up what waits, by the list of the reference (section 12, Purge).
@Suite struct PurgeTests {
  @Test(arguments: Store.allCases)
  func `Purged writes are taken back first, then each is told, and none is sent`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("a", "0")
    let device = world.device(store)
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    device.engine.goOffline()
    for number in 1...4 { device.set("a", "\(number)", "w\(number)") }
    device.engine.onDisconnect(.put("gone", json("true"))) { [lines = device.lines] error in
      lines.add("onDisconnect \(error.map { "\($0.code)" } ?? "done")")
    }
    device.add(1, at: "n", "t")
    await world.waitUntilIdle()
    #expect(try await device.queued().count == 4)
    _ = device.lines.take()
    device.engine.purge()
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        "a value 0", "t write-canceled null", "w1 write-canceled", "w2 write-canceled",
        "w3 write-canceled", "w4 write-canceled", "onDisconnect write-canceled",
      ])
    #expect(try await device.queued().isEmpty)
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(sent.paths == [])
    #expect(device.lines.take() == [])
    #expect(world.data == json(#"{"a":0}"#))
  }

  @Test(arguments: Store.allCases)
  func `The answer to a write that was purged under way is ignored`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    device.transport.hold(.toClient)
    device.set("a", "1", "w")
    await world.waitUntilIdle()
    device.engine.purge()
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == ["a value null", "a value 1", "a value null", "w write-canceled"])
    device.transport.release()
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 1"])
  }
}
