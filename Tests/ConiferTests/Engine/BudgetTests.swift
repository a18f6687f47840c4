import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import Foundation
import Logging
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
    let rooms = 24
    fill(world.server, rooms)
    let device = world.device(store) { $0.options.budget = StorageOptions.smallestBudget }
    device.engine.setPinned(true, QueryTarget("rooms/r0"))
    device.listen("one", QueryTarget("rooms/r1"), .init(.childRemoved))
    await world.waitUntilIdle()
    for room in 2..<rooms {
      let id = device.listen("r", QueryTarget(Path("rooms/r\(room)")), .init(.childRemoved))
      await world.waitUntilIdle()
      device.engine.stopObserving(id)
      await world.waitUntilIdle()
    }
    let backend = try #require(await device.engine.backend)
    _ = try await backend.evicting().evict(to: nil, dryRun: false)
    #expect(try backend.evicting().space().cache <= StorageOptions.smallestBudget)
    await device.restart(isOnline: false)
    for room in [0, 1, 2, rooms - 1] {
      device.listenToValue("r\(room)", QueryTarget(Path("rooms/r\(room)")))
      await device.idle()
    }
    #expect(
      device.lines.take().map { String($0.prefix { $0 != " " }) } == ["r0", "r1", "r\(rooms - 1)"])
  }

  @Test(arguments: [(true, true), (true, false), (false, false)])
  func `A budget that the storage does not keep is told to the log`(
    hasBudget: Bool, evicts: Bool
  ) async throws {
    let world = try World()
    let notes = Gathered<String>()
    let device = world.device(.memory) { configuration in
      let handler = NotingLogHandler(notes: notes)
      configuration.logger = Logger(label: "test") { _ in handler }
      configuration.options.budget = hasBudget ? StorageOptions.smallestBudget : nil
      guard !evicts, let storage = configuration.storage else { return }
      configuration.storage = ScriptedBackend.configuration(storage, ScriptedBackend.Script())
    }
    await world.waitUntilIdle()
    _ = try #require(await device.engine.backend)
    let told = notes.all.filter { $0.hasPrefix("warning") && $0.contains("keeps no budget") }
    #expect(told.count == (hasBudget && !evicts ? 1 : 0), "\(notes.all)")
  }

  @Test(arguments: Store.durable)
  func `15: a cache over its budget is evicted from when it is opened`(
    _ store: Store
  ) async throws {
    let world = try World()
    let rooms = 40
    fill(world.server, rooms)
    let device = world.device(store) { $0.options.budget = nil }
    for room in 0..<rooms {
      let id = device.listen("r", QueryTarget(Path("rooms/r\(room)")), .init(.childRemoved))
      await world.waitUntilIdle()
      device.engine.stopObserving(id)
    }
    device.engine.setPinned(true, QueryTarget("rooms/r0"))
    device.engine.goOffline()
    device.set("rooms/r0/m1", "2")
    await world.waitUntilIdle()
    let before = try #require(await opened(device))
    #expect(try before.evicting().space().cache > StorageOptions.smallestBudget)
    device.configuration.options.budget = StorageOptions.smallestBudget
    await device.restart(isOnline: false)
    let backend = try #require(await opened(device))
    // Nothing is asked of it, and it evicts in slices.
    try await eventually("The cache stays over its budget.") {
      try backend.evicting().space().cache <= StorageOptions.smallestBudget
    }
    #expect(try await device.queued().count == 1)
    device.listen("r0", QueryTarget("rooms/r0"), .init(.childAdded))
    await device.idle()
    #expect(device.lines.take().count == 200)
  }

  private func opened(_ device: Device) async -> (any StorageBackend)? {
    await device.idle()
    return await device.engine.backend
  }

  @Test(arguments: Store.durable)
  func
    `A database keeps its budget by itself, and evicts neither its queue nor what is kept synced`(
      _ store: Store
    ) async throws
  {
    let scratch = try Scratch()
    let directory = scratch.path + "/client"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let (server, rooms) = (Server(), 16)
    fill(server, rooms)
    var configuration = DatabaseConfiguration(
      namespace: World.namespace, storage: store.configuration(at: directory),
      transport: server.transport())
    configuration.options.budget = StorageOptions.smallestBudget
    let database = Database(configuration)
    try await database.reference(withPath: "mine").setValue("kept")
    database.reference(withPath: "rooms/r0").keepSynced(true)
    for room in 0..<rooms { #expect(await count(database, room) == 200) }
    let backend = try #require(await (database.engine as? Engine)?.backend)
    // It evicts between commits, in slices.
    try await eventually("The cache stays over its budget.") {
      try backend.evicting().space().cache <= StorageOptions.smallestBudget
    }
    database.goOffline()
    for number in 0..<100 { database.reference(withPath: "w/k\(number)").enqueue(.set(number)) }
    #expect(try await database.pendingWriteTotals().pending == 100)
    await database.close()
    configuration.transport = nil
    let again = Database(configuration)
    #expect(try await again.pendingWriteTotals().pending == 100)
    #expect(await count(again, 0) == 200)
    // What went is unknown now, not empty.
    await #expect(throws: DatabaseError.self) {
      try await again.reference(withPath: "rooms/r1").getData()
    }
    await again.close()
  }

  private func count(_ database: Database, _ room: Int) async -> Int {
    await withCheckedContinuation { continuation in
      database.reference(withPath: "rooms/r\(room)").observeSingleEvent(of: .value) {
        continuation.resume(returning: Int($0.childrenCount))
      }
    }
  }

  /// Rooms of texts that do not compress, of some 60 KB each.
  private func fill(_ server: Server, _ rooms: Int) {
    var random = Seeded(1)
    for room in 0..<rooms {
      let messages = (0..<200).map { number in
        let words = (0..<40).map { _ in String(random.next(), radix: 36) }
        return (Key("m\(number)"), Node(.string(words.joined())))
      }
      server.set(Path("rooms/r\(room)"), Node(children: messages), in: World.namespace)
    }
  }
}
