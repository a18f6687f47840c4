import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import Foundation
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// A database lets go of its store, and takes it again.
@Suite struct SuspensionTests {
  private func error(_ body: () async throws(DatabaseError) -> Void) async -> DatabaseError.Code? {
    do throws(DatabaseError) {
      try await body()
      return nil
    } catch { return error.code }
  }

  #if canImport(Glibc)
    /// Whether the table lists a lock; a reading of it may miss lines while others change.
    private func isLocked(_ directory: String) throws -> Bool {
      try (0..<50).contains { _ in try !FileLocks.all(under: directory).isEmpty }
    }

    @Test(arguments: Store.durable)
    func `A suspended database holds no lock, and has made durable what it accepted`(
      _ store: Store
    ) async throws {
      let world = try World()
      let device = world.device(store)
      device.listenToValue("a", QueryTarget("a"))
      await world.waitUntilIdle()
      #expect(try isLocked(device.directory))
      device.engine.goOffline()
      let receipts = (0..<20).map { device.set("a", "\($0)") }
      try await device.engine.suspend()
      #expect(try FileLocks.lasting(under: device.directory).isEmpty)
      #expect(try !isLocked(device.directory))
      for receipt in receipts {
        #expect(try await receipt.id != nil)
        _ = try await receipt.durable
      }
      try await device.engine.suspend()
      try await device.engine.resume()
      #expect(try isLocked(device.directory))
      device.engine.goOnline()
      await world.waitUntilIdle()
      #expect(world.data("a") == 19)
      #expect(try await device.queued().isEmpty)
    }
  #endif

  /// A store that is suspended all the same stays so: who has to let go of its locks must not be made to keep them by a
  /// disk that fails.
  @Test(arguments: Store.durable, ["taken", "lost", "suspended"])
  func `A store that lets go of its files and fails is taken again, at once or by resuming`(
    _ store: Store, _ what: String
  ) async throws {
    let isLost = what == "lost"
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.set("a", "1")
    await world.waitUntilIdle()
    let failure = StoreError(.io, "The disk fails, as the test asked for.")
    script.change {
      ($0.suspensionFailure, $0.resumptionFailure) = (failure, isLost ? failure : nil)
      $0.suspensionFailsOnce = what == "suspended"
    }
    #expect(await error { () throws(DatabaseError) in try await device.engine.suspend() } != nil)
    let receipt = device.set("a", "2")
    if isLost {
      #expect(await error { () throws(DatabaseError) in try await device.engine.resume() } != nil)
      script.change { $0.resumptionFailure = nil }
    }
    if what != "taken" {
      // The journal's lock is that of one process.
      if store != .journal {
        try await store.configuration(at: device.directory).open().close()
      }
      try await device.engine.resume()
    }
    await world.waitUntilIdle()
    #expect(try await receipt.id != nil)
    #expect(world.data("a") == 2)
  }

  @Test(arguments: Store.allCases)
  func `A suspended database is disconnected; after it everything goes on`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(world.server.sessions(in: World.namespace).count == 1)
    try await device.engine.suspend()
    while world.pump.step() {}
    #expect(world.server.sessions(in: World.namespace).isEmpty)
    #expect(device.engine.isConnected.current == false)
    world.serverSets("a", "1")
    try await device.engine.resume()
    try await device.engine.resume()
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value null", "a value 1"])
    device.set("a", "2")
    await world.waitUntilIdle()
    #expect(world.data("a") == 2)
  }

  @Test(arguments: Store.allCases)
  func `What is asked for meanwhile is done after it, in order`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    await world.waitUntilIdle()
    try await device.engine.suspend()
    let first = device.set("a", "1", "first")
    device.get("get", QueryTarget("a"))
    device.listenToValue("a", QueryTarget("a"))
    let second = device.set("a", "2", "second")
    device.add(3, at: "a", "sum")
    try await device.engine.resume()
    await world.waitUntilIdle()
    #expect(try await first.id.map(\.number) ?? 0 < second.id.map(\.number) ?? 0)
    #expect(world.data("a") == 5)
    let lines = device.lines.take()
    #expect(lines.contains { $0.hasPrefix("get got ") }, "\(lines)")
    #expect(lines.filter { $0.hasSuffix("done") } == ["first done", "second done"])
    #expect(lines.last { $0.hasPrefix("a ") } == "a value 5")
  }

  @Test(arguments: Store.durable)
  func `While another owner has the store it stays suspended, and loses nothing`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    device.set("a", "1")
    await device.idle()
    try await device.engine.suspend()
    let held = device.set("b", "2")
    // The journal's lock is that of one process.
    if store != .journal {
      let other = try device.configuration.effectiveStorage.open()
      for _ in 0..<2 { #expect(await error(device.engine.resume) == .storageBusy) }
      try await other.close()
    }
    try await device.engine.resume()
    #expect(try await held.id != nil)
    #expect(try await device.queued().map(\.path) == ["a", "b"])
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data == json(#"{"a":1,"b":2}"#))
  }

  /// Also when the store can be resumed and not be read at first.
  @Test(arguments: Store.durable, [false, true])
  func `Writes that another owner sent meanwhile have ended, and those that it queued are sent`(
    _ store: Store, _ isUnreadable: Bool
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, isOnline: false) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    let add = #"{".sv":{"increment":1}}"#
    device.listenToValue("n", QueryTarget("n"))
    let receipts = (0..<5).map { _ in device.set("n", add) }
    await device.idle()
    try await device.engine.suspend()

    var configuration = device.configuration
    configuration.transport = world.server.transport()
    let other = Database(configuration)
    try await eventually("The other one sends nothing.") {
      try await other.pendingWriteTotals().pending == 0
    }
    other.goOffline()
    let late = other.reference(withPath: "late").enqueue(.set(1))
    _ = try await late.durable
    await other.close()

    #expect(world.data("n") == 5)
    if isUnreadable {
      script.change { $0.readFailure = StoreError(.io, "The disk fails, as the test asked for.") }
      #expect(await error(device.engine.resume) == .storageFailure)
      script.change { $0.readFailure = nil }
    }
    try await device.engine.resume()
    for receipt in receipts { #expect(try await receipt.outcome == .acknowledged) }
    device.set("n", add)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data == json(#"{"n":6,"late":1}"#))
    #expect(try await device.queued().isEmpty)
    #expect(device.lines.take().last == "n value 6")
  }

  @Test(arguments: Store.durable)
  func `A process that is killed while suspended loses nothing that it had accepted`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    for number in 0..<50 { device.set("a", "\(number)") }
    try await device.engine.suspend()
    let held = device.set("b", "1")
    // What the next process finds.
    let copy = device.directory + "-killed"
    try FileManager.default.copyItem(atPath: device.directory, toPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    var configuration = device.configuration
    configuration.storage = store.configuration(at: copy)
    configuration.transport = world.server.transport()
    let next = Database(configuration)
    try await eventually("The queue is not sent.") {
      try await next.pendingWriteTotals().pending == 0
    }
    // What waits in memory was not accepted.
    #expect(world.data == json(#"{"a":49}"#))
    await next.close()
    await device.engine.close()
    await #expect(throws: DatabaseError.self) { _ = try await held.id }
  }

  @Test(arguments: Store.allCases)
  func `A suspended database can be closed, and what waited is told`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    device.set("a", "1")
    try await device.engine.suspend()
    device.set("b", "2", "held")
    device.get("get", QueryTarget("c"))
    await device.engine.close()
    #expect(await error(device.engine.suspend) == .closed)
    #expect(await error(device.engine.resume) == .closed)
    // Nothing is held any more.
    device.set("c", "3", "late")
    device.get("late get", QueryTarget("c"))
    await world.waitUntilIdle()
    await withCheckedContinuation { done in device.queue.async { done.resume() } }
    #expect(device.lines.take() == ["held closed", "get closed", "late closed", "late get closed"])
    guard store != .memory else { return }
    await device.restart()
    await world.waitUntilIdle()
    #expect(world.data == json(#"{"a":1}"#))
  }

  @Test(arguments: Store.allCases)
  func `No slice of housekeeping is done in a suspended store`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store) { $0.housekeeping = .automatic }
    for number in 0..<100 { device.set(Path("k\(number)"), "1") }
    await world.waitUntilIdle()
    let runner = try #require(await device.engine.ask { $0.lifetime.storage.housekeeping })
    device.clock.advance(by: 2_000)
    try await device.engine.suspend()
    #expect(!runner.slices.isUnderWay)
    let begun = runner.slices.begun
    device.clock.advance(by: 1_000_000)
    #expect(runner.slices.begun == begun)
    try await device.engine.resume()
    try await eventually("It is never tidied again.") {
      device.clock.advance(by: 2_000)
      return runner.slices.begun > begun
    }
  }

  /// Locks that a failed `resume` has kept are let go of by another `suspend`.
  @Test(arguments: Store.durable)
  func `A store that can be neither read nor let go of again is let go of later`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, isOnline: false) {
      $0.housekeeping = .automatic
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.set("a", "1")
    await device.idle()
    let runner = try #require(await device.engine.ask { $0.lifetime.storage.housekeeping })
    try await device.engine.suspend()
    try await changeStore(of: device, "first")
    let failure = StoreError(.io, "The disk fails, as the test asked for.")
    script.change { ($0.readFailure, $0.suspensionFailure) = (failure, failure) }
    #expect(await error(device.engine.resume) == .storageFailure)
    let begun = runner.slices.begun
    device.clock.advance(by: 1_000_000)
    #expect(runner.slices.begun == begun)
    #expect(await error(device.engine.suspend) == .storageFailure)
    script.change { $0.suspensionFailure = nil }
    try await device.engine.suspend()
    try await changeStore(of: device, "second")
    script.change { $0.readFailure = nil }
    try await device.engine.resume()
    #expect(try await device.queued().map(\.path) == ["a"])
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("a") == 1)
  }

  /// Another owner commits something; it cannot while the locks are held.
  private func changeStore(of device: Device, _ tree: String) async throws {
    let other = try device.store.configuration(at: device.directory).open()
    _ = try await other.tree(named: tree)
    try await other.close()
  }
}
