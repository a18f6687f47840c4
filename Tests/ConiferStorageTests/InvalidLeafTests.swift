import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// A run that is intact, and holds a value that is no leaf: whoever meets it names this run, and no other
/// one is dropped for it.
@Suite struct InvalidLeafTests {
  private let tree = TreeID(rawValue: 1)

  /// A store with such a value at a path; gives the run's key, and all keys of runs.
  private func forged(
    _ path: Path, _ value: Bytes = [ValueTag.null]
  ) async throws -> (MemoryStore, run: Bytes, all: [Bytes]) {
    let store = try await DamageTests.filled()
    if path.last?.isPriority == true {
      let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
      try await backend.commit([.overwrite(tree, path, 1)])
      // Not in a delta.
      while try await backend.tidy(.seconds(1)) {}
    }
    let leaves = LeafStore(store, .none)
    let view = try leaves.openSnapshot()
    defer { view.close() }
    let reader = RunReader(view: view, tree: tree)
    let key =
      path.last?.isPriority == true
      ? PathKey.encode(path.parent ?? .root, .realtimeDatabase) + [PathKey.priorityMark]
      : PathKey.encode(path, .realtimeDatabase)
    let head = try #require(try reader.run(covering: key))
    var entries = EntryList()
    for entry in try reader.entries(head) {
      entries.append(entry.key == key ? Entry(key: key, value: value) : entry)
    }
    let forged = RunHead(
      storeKey: head.storeKey, fullSeparator: [], number: head.number,
      RunHead.Packed(entries, 0..<entries.count, Packing(Codec(level: nil))))
    var batch = Batch()
    batch.put(Spaces.runs, head.storeKey, forged.value)
    _ = try store.apply(batch, .relaxed)
    return (store, head.storeKey, try store.keys(Spaces.runs))
  }

  /// Expects that this run alone was dropped, and that its neighbours' data is there.
  private func expectDropped(
    _ run: Bytes, of all: [Bytes], in store: MemoryStore, _ backend: MemoryBackend
  ) throws {
    #expect(try store.keys(Spaces.runs).filter { $0 != run } == all.filter { $0 != run })
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(incidents.map(\.kind) == [.cacheRangeDropped])
    for number in 0..<3 {
      let path = Path("rooms/r\(number)")
      var written = DamageTests.room(number)
      if number == 1 { written = written.setting(Path("m7/text"), to: "changed") }
      #expect(try backend.node(tree, path) == written)
      let isComplete = try backend.read { (view) throws(StoreError) in
        try view.isComplete(tree, path)
      }
      #expect(isComplete)
    }
  }

  @Test func `A priority over a value that is no leaf costs its run alone`() async throws {
    let (store, run, all) = try await forged("rooms/r5/m31/text")
    try #require(run != all.first)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    try await backend.commit([.overwrite(tree, "rooms/r5/m31/text/.priority", 1)])
    try expectDropped(run, of: all, in: store, backend)
  }

  @Test(arguments: ["rooms/r5/m31/.priority", "rooms/r5/m31", "rooms/r5"])
  func `A value that is no priority costs the run of its node alone`(read: Path) async throws {
    // A boolean, under the key of a priority.
    let (store, run, all) = try await forged("rooms/r5/m31/.priority", [2])
    try #require(run != all.first)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    #expect(try !backend.verify().isSound)
    _ = try backend.node(tree, read)
    try expectDropped(run, of: all, in: store, backend)
    #expect(try backend.node(tree, "rooms/r5/m31/.priority") == .empty)
  }

  @Test func `An index over a value that is no leaf costs its run alone`() async throws {
    let (store, run, all) = try await forged("rooms/r5/m31/text")
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    try await backend.commit([
      .setIndexes(tree, [try IndexDefinition("rooms/$room", by: .child("text"))])
    ])
    while try await backend.tidy(.seconds(1)) {}
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(incidents.map(\.kind) == [.cacheRangeDropped])
    #expect(try !store.keys(Spaces.runs).contains(run))
    try #require(run != all.first)
    #expect(try backend.node(tree, "rooms/r2") == DamageTests.room(2))
    let rows = try store.keys(Spaces.indexes).count
    #expect(rows > 3 * 60, "\(rows) rows")
  }
}
