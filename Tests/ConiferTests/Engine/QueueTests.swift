import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Foundation
import Testing

@testable import Conifer
@testable import ConiferSync

/// The outbound queue: what it costs, and what becomes of it when the disk is full.
@Suite struct QueueTests {
  /// 10,000 writes, or as many as `CONIFER_WRITES` says.
  private static let length =
    ProcessInfo.processInfo.environment["CONIFER_WRITES"].flatMap { Int($0) } ?? 10_000

  @Test(arguments: Store.durable)
  func `A long queue is not read at opening, and drains in windows`(
    _ store: Store
  ) async throws {
    let length = Self.length
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, isOnline: false) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await device.engine.close()
    let backend = try store.configuration(at: device.directory).open()
    let lane = Lane(tree: try await backend.tree(named: World.namespace))
    for batch in 0..<(length / 1000) {
      let edits = (0..<1000).map { index in
        StorageEdit.enqueue(
          lane, .set(Path("room\(batch)/k\(index)"), Node(.integer(Int64(index)))))
      }
      _ = try await backend.commit(edits, .process)
    }
    try await backend.close()

    script.reset()
    await device.restart(isOnline: false)
    await device.idle()
    #expect(script.counts.queueReads == 0)
    #expect(script.counts.cacheReads == 0)
    // A view takes the writes of its path alone.
    device.listen("k", QueryTarget("room7/k7"), .init(.value))
    await device.idle()
    #expect(device.lines.take() == ["k value 7"])
    #expect(script.counts.writesRead <= 2)
    let next = device.set("room7/k7", "8")
    await device.idle()
    #expect(device.lines.take() == ["k value 8"])
    #expect(try await next.id?.number == UInt64(length) + 1)
    #expect(try await device.engine.writeTotals().pending == length + 1)
    #expect(script.counts.writesRead <= 3)

    // Some of it drains; what is in memory is a window.
    device.engine.goOnline()
    for _ in 0..<2_000 {
      await device.idle()
      if !world.pump.step() { break }
    }
    let left = try await device.engine.writeTotals().pending
    #expect(left <= length && left > length / 2)
    #expect(script.counts.largestWindow <= 64)
    // Each is read to be sent, and to be ended.
    #expect(script.counts.writesRead <= 2 * (length + 1 - left) + 3 * 64)
  }

  @Test(arguments: Store.durable)
  func `A queue drains in order, and costs each write the same however long it is`(
    _ store: Store
  ) async throws {
    let short = try await drain(200, store)
    let long = try await drain(800, store)
    #expect(long.reads <= 4 * short.reads + 64)
    #expect(long.edits <= 4 * short.edits + 64)
    #expect(long.largest <= 64 && short.largest <= 64)
  }

  /// Queues writes offline and sends them; what that read and changed in the store.
  private func drain(
    _ length: Int, _ store: Store
  ) async throws -> (reads: Int, edits: Int, largest: Int) {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, isOnline: false) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    for number in 0..<length { device.set(Path("room\(number % 7)/k\(number)"), "\(number)") }
    await device.restart(isOnline: false)
    await device.idle()
    script.reset()
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    let numbers = sent.all.compactMap { request -> Int? in
      guard case .put(_, let node, _) = request else { return nil }
      return node.leaf?.number.map { Int($0) }
    }
    #expect(numbers == Array(0..<length))
    #expect(try await device.engine.writeTotals().pending == 0)
    let counts = script.counts
    return (counts.writesRead, counts.commits.joined().count, counts.largestWindow)
  }

  @Test(arguments: Store.durable)
  func `An increment beside what is shown reads no more the longer the queue is`(
    _ store: Store
  ) async throws {
    #expect(try await increments(400, store) <= 4 * increments(100, store) + 64)
  }

  /// Increments what no view shows, offline; how many queued writes that read.
  private func increments(_ length: Int, _ store: Store) async throws -> Int {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, isOnline: false) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.listen("room", QueryTarget("room"), .init(.childAdded))
    await device.idle()
    script.reset()
    let (one, now) = (#"{".sv":{"increment":1}}"#, #"{".sv":"timestamp"}"#)
    for number in 1...length {
      device.update(
        .root,
        [
          (Path("room/k\(number)"), "\(number)"), (Path("times/k\(number)"), now),
          (number % 3 == 0 ? "third" : "other", one),
        ])
      device.set("other", one)
      // Some come together, others alone.
      if number % 5 < 2 { await device.idle() }
    }
    await device.idle()
    let reads = script.counts.writesRead
    #expect(device.lines.take().count == length)
    for place in ["third", "other"] {
      device.listen(place, QueryTarget(Path(place)), .init(.value))
      await device.idle()
    }
    let third = length / 3
    #expect(device.lines.take() == ["third value \(third)", "other value \(2 * length - third)"])
    return reads
  }

  @Test(arguments: Store.allCases)
  func `When the disk is full a write fails and the app is told; all else goes on`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.listen("a", QueryTarget("a"), .init(.value))
    device.set("a", "1", "before")
    await world.waitUntilIdle()
    _ = device.lines.take()
    script.fail(StoreError(.full, "The disk is full: make room."))
    let receipt = device.set("a", "2", "full")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["full storage-full"])
    guard case .failed(let error) = try await receipt.outcome else {
      Issue.record("it was queued")
      return
    }
    #expect(error.code == .storageFull)
    world.serverSets("a", "3")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 3"])
    script.fail(nil)
    world.serverSets("a", #"{"b":4}"#)
    world.serverSets("a/c", "5")
    device.set("a/d", "6", "after")
    await world.waitUntilIdle()
    #expect(device.lines.take().last == "after done")
    #expect(world.data("a") == json(#"{"b":4,"c":5,"d":6}"#))
    await device.restart(isOnline: false)
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    let kept = store == .memory ? [] : [#"a value {"b":4,"c":5,"d":6}"#]
    #expect(device.lines.take() == kept)
  }

  @Test(arguments: Store.allCases)
  func `An answer that could not be stored is stored later, and nothing is sent again`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    let one = device.set("a", "1", "one")
    await device.idle()
    script.fail(StoreError(.full, "The disk is full: make room."))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["one done"])
    // The store still takes it for waiting; the app is told what is.
    #expect(try await device.engine.outcome(of: try #require(try await one.id)) == .acknowledged)
    #expect(try await device.queued().isEmpty)
    script.fail(nil)
    device.set("b", "2", "two")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["two done"])
    #expect(try await device.queued().isEmpty)
    #expect(device.transport.counts.writes == 2)
  }
}
