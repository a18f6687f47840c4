import ConiferQuery
import ConiferServer
import ConiferSync
import ConiferTree
import ConiferWire
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
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.update("", [("scores/x", Self.inc), ("elsewhere", Self.inc)])
    device.update("", [("scores/x", Self.inc), ("at", #"{".sv":"timestamp"}"#)])
    await device.idle()
    #expect(device.lines.take() == ["x changed x 105", "x changed x 110"])
    device.engine.goOnline()
    await world.waitUntilIdle()
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
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.set("scores/x/n", Self.inc)
    await device.restart(isOnline: false)
    device.listen("x", try newest(1), .init(.childAdded))
    await device.idle()
    #expect(device.lines.take() == [#"x added x {"n":105}"#])
    device.set("scores/x/n", Self.inc)
    device.get("whole", QueryTarget("scores/x"))
    await world.waitUntilIdle()
    await world.pass(4_000)
    #expect(device.lines.take() == [#"whole got {"n":110}"#])
  }

  @Test(arguments: Store.allCases)
  func `An increment counts from all that waits, shown or not`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    let one = #"{".sv":{"increment":1}}"#
    device.listen("room", QueryTarget("room"), .init(.childAdded))
    await device.idle()
    device.update(.root, [("room/a", "1"), ("count", one)])
    await device.idle()
    device.set("count", one)
    await device.idle()
    device.update(.root, [("room/b", "1"), ("count", one)])
    await device.idle()
    _ = device.lines.take()
    device.listen("count", QueryTarget("count"), .init(.value))
    await device.idle()
    #expect(device.lines.take() == ["count value 3"])
    await world.waitUntilIdle()
  }

  /// What comes between two increments of a place that no view shows.
  enum Event: String, CaseIterable, Sendable {
    case nothing, acknowledgement, refusal, retry, purge, answer, answerAbove, completion

    /// What the place holds for the device then, and for the server in the end; it held 100 there.
    var counts: (local: Int, final: Int) {
      switch self {
      case .nothing: (2, 102)
      case .refusal, .purge: (1, 101)
      case .acknowledgement, .retry: (3, 103)
      case .answer, .answerAbove, .completion: (102, 102)
      }
    }
  }

  @Test(arguments: Store.allCases, Event.allCases)
  func `An increment of what no view shows counts from what is true by then`(
    _ store: Store, _ event: Event
  ) async throws {
    let world = try World()
    world.serverSets("counts", #"{"a":10,"b":100}"#)
    let device = world.device(store)
    device.listen("room", QueryTarget("room"), .init(.childAdded))
    func increment(_ name: String) -> WriteReceipt {
      device.update(
        .root, [(Path("room/\(name)"), "1"), ("counts/b", #"{".sv":{"increment":1}}"#)])
    }
    await world.waitUntilIdle()
    switch event {
    case .nothing:
      device.engine.goOffline()
      _ = increment("first")
    case .acknowledgement:
      let sent = Sent(device)
      _ = increment("first")
      await step(world, device) { sent.all.isEmpty }
      device.transport.hold(.toServer)
      _ = increment("second")
      await world.waitUntilIdle()
      #expect(try await device.queued().count == 1)
    case .purge:
      device.engine.goOffline()
      _ = increment("first")
      await device.idle()
      device.engine.purge()
    case .refusal, .retry:
      device.transport.refuse(next: 1)
      let first = increment("first")
      await world.waitUntilIdle()
      device.engine.goOffline()
      guard event == .retry else { break }
      _ = increment("second")
      await device.idle()
      try await device.engine.retry(try #require(try await first.id))
    case .answer, .answerAbove:
      let sent = Sent(device)
      device.get("answer", QueryTarget(event == .answer ? "counts/b" : "counts"))
      await step(world, device) { sent.all.isEmpty }
      device.transport.hold(.toServer)
      _ = increment("first")
      await world.waitUntilIdle()
    case .completion:
      let id = device.listen("counts", QueryTarget("counts"), .init(.value))
      await world.waitUntilIdle()
      device.engine.stopObserving(id)
      await world.waitUntilIdle()
      let sent = Sent(device)
      // The answer leaves it to the server what is at a, and counts incomplete until that is told.
      device.update(
        .root, [("room/other", "1"), ("counts/a", #"{".sv":{"increment":1}}"#)])
      await step(world, device) {
        !sent.all.contains { if case .get(_) = $0 { true } else { false } }
      }
      device.transport.hold(.toServer)
      _ = increment("first")
      await world.waitUntilIdle()
    }
    _ = increment("last")
    await device.idle()
    // What is held back is lost, not done later.
    device.transport.disconnect()
    device.engine.goOffline()
    _ = device.lines.take()
    device.listen("b", QueryTarget("counts/b"), .init(.value))
    await device.idle()
    let counts = event.counts
    #expect(device.lines.take() == ["b value \(counts.local)"])
    device.transport.release()
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("counts/b") == json("\(counts.final)"))
    let last = counts.local == counts.final ? [] : ["b value \(counts.final)"]
    #expect(device.lines.take().suffix(1) == last[...])
  }

  /// Delivers messages one at a time as long as something is so.
  private func step(_ world: World, _ device: Device, while isSo: () -> Bool) async {
    repeat { await device.idle() } while isSo() && world.pump.step()
  }
}
