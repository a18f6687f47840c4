import ConiferQuery
import ConiferSync
import ConiferTree
import Testing

@testable import Conifer

/// From what an increment counts while the server has not answered.
@Suite struct IncrementTests {
  private static let inc = #"{".sv":{"increment":5}}"#

  private func newest(_ count: Int) throws -> QueryTarget {
    QueryTarget("scores", try QuerySpec.default.limited(toLast: count))
  }

  @Test(arguments: Store.allCases)
  func `It counts from what a view shows, also beside a place that nobody observes`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("scores", #"{"w":1,"x":100}"#)
    let device = world.device(store)
    device.listen("x", try newest(1), .init(.childChanged))
    await world.settle()
    device.engine.goOffline()
    device.update("", [("scores/x", Self.inc), ("elsewhere", Self.inc)])
    device.update("", [("scores/x", Self.inc), ("at", #"{".sv":"timestamp"}"#)])
    await device.idle()
    #expect(device.lines.take() == ["x changed x 105", "x changed x 110"])
    device.engine.goOnline()
    await world.settle()
    #expect(world.data("scores/x") == json("110"))
    #expect(world.data("elsewhere") == json("5"))
  }

  @Test(arguments: Store.durable)
  func `After a restart it counts from what a filtered query had loaded`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("scores", #"{"w":{"n":1},"x":{"n":100}}"#)
    let device = world.device(store)
    device.listen("x", try newest(1), .init(.childAdded))
    await world.settle()
    device.engine.goOffline()
    device.set("scores/x/n", Self.inc)
    await device.restart(isOnline: false)
    device.listen("x", try newest(1), .init(.childAdded))
    await device.idle()
    #expect(device.lines.take() == [#"x added x {"n":105}"#])
    device.set("scores/x/n", Self.inc)
    device.get("whole", QueryTarget("scores/x"))
    await world.settle()
    await world.pass(4_000)
    #expect(device.lines.take() == [#"whole got {"n":110}"#])
  }
}
