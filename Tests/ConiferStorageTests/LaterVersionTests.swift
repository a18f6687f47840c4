import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Records that a later version wrote are refused with an error that says so, and stay: they are
/// not damaged.
@Suite struct LaterVersionTests {
  private let tree = TreeID(rawValue: 1)

  /// Changes one byte of a record's payload and seals it again.
  private func change(
    _ store: MemoryStore, _ space: Space, _ key: Bytes, at index: Int, to byte: UInt8
  ) throws -> Bytes {
    let value = try #require(try store.view().value(space, key))
    var payload = try #require(Record.open(space, key, value))
    payload[index] = byte
    let newer = Record.seal(space, key, payload)
    var batch = Batch()
    batch.put(space, key, newer)
    _ = try store.apply(batch, .relaxed)
    return newer
  }

  @Test(arguments: [0, 1, 2]) func `Runs`(at index: Int) async throws {
    let store = try await DamageTests.filled()
    for key in try store.keys(Spaces.runs) {
      let newer = try change(store, Spaces.runs, key, at: index, to: 0x40)
      try await expectRefused(store, Spaces.runs, key, newer)
    }
  }

  @Test func `Deltas and parts`() async throws {
    for space in [Spaces.deltas, Spaces.chunks] {
      let store = try await DamageTests.filled()
      let key = try #require(try store.keys(space).first)
      let newer = try change(store, space, key, at: 0, to: 0x40)
      try await expectRefused(store, space, key, newer)
    }
  }

  private func expectRefused(
    _ store: MemoryStore, _ space: Space, _ key: Bytes, _ value: Bytes
  ) async throws {
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let error = #expect(throws: StoreError.self) {
      try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
    }
    #expect(error?.code == .unsupported)
    #expect(try store.view().value(space, key) == value)
  }

  @Test func `The key order of a tree`() async throws {
    let store = try await DamageTests.filled()
    let key: Bytes = [0, 0, 0, 0, UInt8(ascii: "t"), 0, 0, 0, 1]
    _ = try change(store, Spaces.system, key, at: 0, to: 9)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let error = #expect(throws: StoreError.self) {
      try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
    }
    #expect(error?.code == .newerFormat)
  }

  @Test func `Parts of queued writes`() async throws {
    let store = try await DamageTests.filled()
    let key = try #require(try store.keys(Spaces.queueParts).first)
    _ = try change(store, Spaces.queueParts, key, at: 0, to: 0x40)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let lane = Lane(tree: tree, identity: "ann")
    let error = #expect(throws: StoreError.self) {
      try backend.read { (view) throws(StoreError) in
        try view.write(lane, WriteID(rawValue: 6))
      }
    }
    #expect(error?.code == .unsupported)
    #expect(try Incidents.all(try store.view()).isEmpty)
  }
}
