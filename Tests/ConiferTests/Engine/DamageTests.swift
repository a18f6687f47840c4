import ConiferKeyValue
import ConiferLMDB
import ConiferLeafStore
import ConiferLog
import ConiferQuery
import ConiferSQLite
import ConiferTree
import JournalStore
import Testing

@testable import Conifer
@testable import ConiferStorage

/// Records that a disk has changed.
@Suite struct DamageTests {
  @Test(arguments: Store.durable)
  func `A damaged queued write is set aside, and the rest is sent in order`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    for number in 1...4 { device.set(Path("k\(number)"), "\(number)") }
    await world.waitUntilIdle()
    await device.engine.close()
    // The second of the waiting writes.
    try await damage(store, device.directory, Spaces.queue) { $0.first { Self.isWrite($0, 2) } }
    await device.restart()
    let sent = Sent(device)
    device.listenToValue("k2", QueryTarget("k2"))
    await world.waitUntilIdle()
    #expect(sent.paths == ["k1", "k3", "k4"])
    #expect(device.lines.take() == ["k2 value null"])
    #expect(try await device.queued().isEmpty)
    let backend = try #require(await device.engine.backend)
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(incidents.map(\.kind) == [.writeSetAside])
    #expect(await device.engine.incidentsSeen == 1)
  }

  /// Its checksum is right, so only its content tells.
  @Test(arguments: Store.durable)
  func `A queued write of bytes that are no text is set aside, and the rest is sent`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    for number in 1...3 { device.set(Path("k\(number)"), #"{"name":"value \#(number)"}"#) }
    await world.waitUntilIdle()
    await device.engine.close()
    try await damage(store, device.directory, Spaces.queue) {
      $0.first { Self.isWrite($0, 2) }
    } to: { key, value in
      let name = try #require(value.firstRange(of: Bytes("name".utf8)))
      value[name.lowerBound] = 0xFF
      value = Record.seal(Spaces.queue, key, Bytes(value.dropFirst(Record.overhead)))
    }
    await device.restart()
    let sent = Sent(device)
    await world.waitUntilIdle()
    #expect(sent.paths == ["k1", "k3"])
    #expect(try await device.queued().isEmpty)
    #expect(await device.engine.incidentsSeen == 1)
  }

  @Test(arguments: Store.durable)
  func `What another program queued holds up nothing, is listed, and may be discarded`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    device.set("k1", "1")
    await device.idle()
    let backend = try #require(await device.engine.backend)
    let lane = Lane(tree: try await backend.tree(named: World.namespace))
    let foreign = WritePayload(
      kind: WritePayload.Kind(rawValue: 9), path: "k2", touches: ["k2"], bytes: [1, 2, 3])
    // More than a window of the queue.
    _ = try await backend.commit(
      [StorageEdit](repeating: .enqueue(lane, foreign), count: 130), .process)
    // A later version had sent some of it.
    _ = try await backend.commit(
      [
        .setState(lane, WriteID(rawValue: 2), .sent),
        .setState(lane, WriteID(rawValue: 3), .outcomeUnknown),
        .setState(lane, WriteID(rawValue: 4), .rejected(reason: "no")),
      ], .process)
    device.set("k3", "3")
    await device.idle()
    device.listenToValue("k2", QueryTarget("k2"))
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(sent.paths == ["k1", "k3"])
    #expect(device.lines.take() == ["k2 value null"])
    let left = try await device.queued()
    #expect(left.count == 130 && left.allSatisfy { $0.kind == .other && $0.path == "k2" })
    // What is acknowledged is cached all the same.
    device.engine.goOffline()
    device.get("k3", QueryTarget("k3"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["k3 got 3"])
    for write in left { try await device.engine.discard(write.id) }
    #expect(try await device.queued().isEmpty)
    device.engine.goOnline()
    device.set("k4", "4")
    await world.waitUntilIdle()
    #expect(sent.paths == ["k1", "k3", "k4"])
  }

  @Test(arguments: Store.durable)
  func `A damaged range of the cache is fetched again`(_ store: Store) async throws {
    let world = try World()
    world.serverSets("a", #"{"b":1,"c":2}"#)
    let device = world.device(store)
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    await device.engine.close()
    try await damage(store, device.directory, Spaces.runs) { $0.first }
    await device.restart(isOnline: false)
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [])
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"a value {"b":1,"c":2}"#])
  }

  private static func isWrite(_ key: Bytes, _ number: UInt8) -> Bool {
    // Tree, an empty identity with its end, the class of waiting writes, the number.
    key.count >= 8 && key.last == number && key.contains(1) && !key.suffix(2).elementsEqual([255])
  }

  /// Changes the value of a record that a closure picks by its key.
  private func damage(
    _ store: Store, _ directory: String, _ space: Space, _ pick: ([Bytes]) -> Bytes?,
    to change: (Bytes, inout Bytes) throws -> Void = { _, value in value[value.count / 2] ^= 0x40 }
  ) async throws {
    let backend = try store.configuration(at: directory).open()
    switch backend {
    case let backend as PackedBackend<LMDBStore>: try damage(backend.store, space, pick, change)
    case let backend as PackedBackend<SQLiteStore>: try damage(backend.store, space, pick, change)
    case let backend as PackedBackend<LogStore>: try damage(backend.store, space, pick, change)
    case let backend as JournalBackend: try damage(backend.store, space, pick, change)
    default: Issue.record("no such store")
    }
    try await backend.close()
  }

  private func damage(
    _ store: some OrderedStore, _ space: Space, _ pick: ([Bytes]) -> Bytes?,
    _ change: (Bytes, inout Bytes) throws -> Void
  ) throws {
    let view = try store.view()
    let rows = try view.entries(space, prefix: [])
    view.close()
    let key = try #require(pick(rows.map(\.key)))
    let row = try #require(rows.first { $0.key == key })
    var value = row.value
    try change(key, &value)
    var batch = Batch()
    batch.put(space, key, value)
    _ = try store.apply(batch, .process)
  }
}
