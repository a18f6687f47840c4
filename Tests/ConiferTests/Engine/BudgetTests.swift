import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// What stays in a cache that is too small for all.
@Suite struct BudgetTests {
  @Test(arguments: Store.durable)
  func `What is pinned or listened to stays, the rest goes by its last use`(
    _ store: Store
  ) async throws {
    let world = try World()
    var random = Seeded(state: 1)
    let rooms = 24
    for room in 0..<rooms {
      // Texts that do not compress.
      let messages = (0..<200).map { number in
        let words = (0..<40).map { _ in String(random.next(), radix: 36) }
        return (Key("m\(number)"), Node(.string(words.joined())))
      }
      world.server.set(Path("rooms/r\(room)"), Node(children: messages), in: World.namespace)
    }
    let device = world.device(store) { $0.options.budget = StorageOptions.smallestBudget }
    device.engine.setPinned(true, QueryTarget("rooms/r0"))
    device.listen("one", QueryTarget("rooms/r1"), .init(.childRemoved))
    await world.settle()
    for room in 2..<rooms {
      let id = device.listen("r", QueryTarget(Path("rooms/r\(room)")), .init(.childRemoved))
      await world.settle()
      device.engine.stopObserving(id)
      await world.settle()
    }
    let backend = try #require(await device.engine.backend)
    _ = try await backend.evict(to: nil, dryRun: false)
    #expect(try backend.space().cache <= StorageOptions.smallestBudget)
    await device.restart(isOnline: false)
    for room in [0, 1, 2, rooms - 1] {
      device.listenToValue("r\(room)", QueryTarget(Path("rooms/r\(room)")))
      await device.idle()
    }
    #expect(
      device.lines.take().map { String($0.prefix { $0 != " " }) } == ["r0", "r1", "r\(rooms - 1)"])
  }
}
