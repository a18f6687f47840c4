import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

@Suite struct RunTests {
  @Test func `Runs that are numbered anew keep what their neighbours got in the same commit`()
    async throws
  {
    let store = ProbeStore(bestValueSize: 1024)
    let backend = try PackedBackend(
      store, name: "probe", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    let parent = Path((0..<7).map { Key(String(repeating: "\($0)x", count: 50)) })
    func text(_ number: Int) -> Node {
      Node(.string("\(number) " + String(repeating: "t", count: 90)))
    }
    var expected = Node(
      children: (0..<60).map { (Key("a\(1000 + $0)"), text($0)) }
        + (0..<60).map { (Key("z\(1000 + $0)"), text($0)) })
    try await backend.commit([.overwrite(tree, parent, expected)])
    for round in 0..<14 {
      // Always below the same neighbour, which changes as well.
      for number in 0..<40 {
        let key = Key("m\(100_000 + round * 100 + number)")
        expected = expected.setting(Path([key]), to: text(number))
      }
      for number in 0..<60 {
        let key = Key("z\(1000 + number)")
        expected = expected.setting(Path([key]), to: text(round * 100 + number))
      }
      try await backend.commit([.overwrite(tree, parent, expected)])
      let read = try backend.read { (view) throws(StoreError) in try view.node(tree, parent) }
      try #require(read == expected, "round \(round)")
      let usage = try backend.read { (view) throws(StoreError) in try view.usage(tree) }
      try #require(usage.leaves == expected.leafCount, "round \(round)")
    }
    try expectExactUsage(store.base, "at the end")
  }

  @Test(arguments: [0, 40])
  func `A priority does not decide whether a leaf lies in parts`(priority: Int) async throws {
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let tree = try await backend.tree(named: "main")
    let text = String(repeating: "x", count: LargeLeaf.threshold - 10)
    let node = Node(
      .string(text),
      priority: priority == 0 ? nil : Priority(.string(String(repeating: "p", count: priority))))
    try await backend.commit([.overwrite(tree, "a", node)])
    #expect(try store.keys(Spaces.chunks).isEmpty)
    let read = try backend.read { (view) throws(StoreError) in try view.node(tree, "a") }
    #expect(read == node)
  }

  @Test func `Keys of a filtered query come in the tree's order, long ones too`() async throws {
    let backend = try StorageConfiguration.memory.open()
    let tree = try await backend.tree(named: "main", order: .utf8)
    let long = String(repeating: "k", count: 300)
    let keys = ["10", "9", long + "b", long + "c", long + "a", "\u{FFFD}", "😀"].map { Key($0) }
    let saved = try await backend.commit([
      .saveQuery(TrackedQuery(tree: tree, path: "a", parameters: "f"))
    ])
    try await backend.commit([.setTrackedKeys(tree, saved.queries[0], keys)])
    let read = try backend.read { (view) throws(StoreError) in
      try view.trackedKeys(tree, saved.queries[0])
    }
    #expect(
      read == keys.sorted { $0.string.utf8.lexicographicallyPrecedes($1.string.utf8) })
  }

  @Test func `A second tidying finds nothing to do`() async throws {
    let store = ProbeStore()
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let tree = try await backend.tree(named: "main")
    // Text that does not compress, in runs of which two are small but do not fit into one.
    var state: UInt64 = 42
    for number in 0..<20 {
      let texts = (0..<8).map { index in
        let letters = (0..<280).map { _ in
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          return UnicodeScalar(UInt8(33 + (state >> 33) % 94))
        }
        return (
          Key("k\(index)"), Node(.string(String(String.UnicodeScalarView(letters))))
        )
      }
      try await backend.commit([
        .overwrite(tree, Path("n\(100 + number)"), Node(children: texts))
      ])
    }
    // A new opener has not learnt yet how little is gained.
    let again = try PackedBackend(store, name: "probe", options: StorageOptions())
    while try await again.tidy(.seconds(1)) {}
    store.applied.withLock { $0 = [] }
    while try await again.tidy(.seconds(1)) {}
    #expect(store.applied.withLock { $0.map(\.edits) }.allSatisfy { $0 == 0 })
  }

  @Test func `The parts of a large leaf go with it, and only with it`() async throws {
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let tree = try await backend.tree(named: "main")
    let large = Node(.string(String(repeating: "large ", count: 60_000)))
    let other = Node(.string(String(repeating: "other ", count: 120_000)))
    let ends: [[StorageEdit]] = [
      [.overwrite(tree, "a/b", 1)], [.overwrite(tree, "a", .empty)],
      [.overwrite(tree, "a/b/c", 1)], [.merge(tree, "a", [WriteContent.Change("b", "x")])],
      [.prune(tree, PruneForest([.root: .prune]))],
      [.overwrite(tree, "a/b", .empty), .overwrite(tree, "a/b", other), .overwrite(tree, "a", 2)],
    ]
    for end in ends {
      try await backend.commit([.overwrite(tree, "a/b", large), .overwrite(tree, "c", 1)])
      try await backend.commit([.overwrite(tree, "a/b/.priority", 5)])
      while try await backend.tidy(.seconds(1)) {}
      #expect(try store.keys(Spaces.chunks).count == 2)
      let read = try backend.read { (view) throws(StoreError) in try view.node(tree, "a/b") }
      #expect(
        read == Node(.string(String(repeating: "large ", count: 60_000)), priority: Priority(5)))
      try await backend.commit(end)
      #expect(try store.keys(Spaces.chunks).isEmpty)
      try expectExactUsage(store, "after \(end)")
    }
    try await backend.commit([.overwrite(tree, "a/b", large)])
    try await backend.commit([.wipe(tree)])
    #expect(try store.keys(Spaces.chunks).isEmpty)
  }

  /// Edits of a room that come before it goes in the same commit.
  @Test(arguments: [
    [("k000", "v000")], [("k000", "longer than before")], [("k000", ""), ("k001", "other")],
    [("large", "small")],
  ])
  func `A room that goes in the commit that changed it leaves nothing`(
    _ edits: [(key: String, text: String)]
  ) async throws {
    let store = MemoryStore()
    let options = StorageOptions(compression: .none)
    let backend = try MemoryBackend(store, name: "memory", options: options)
    let tree = try await backend.tree(named: "main")
    var leaves = (1000..<4000).map { (Key("k\($0)"), Node(.string("value \($0) of the room"))) }
    leaves.append((Key("k000"), Node(.string("v000"))))
    leaves.append((Key("large"), Node(.string(String(repeating: "large ", count: 60_000)))))
    try await backend.commit([
      .overwrite(tree, "room", Node(children: leaves)), .overwrite(tree, "z", 1),
    ])
    while try await backend.tidy(.seconds(1)) {}
    #expect(try store.keys(Spaces.runs).count > 2)
    #expect(try !store.keys(Spaces.chunks).isEmpty)
    try await backend.commit(
      edits.map { edit in
        let leaf = edit.text.isEmpty ? Node.empty : Node(.string(edit.text))
        return .overwrite(tree, Path("room/\(edit.key)"), leaf)
      } + [.overwrite(tree, "room", .empty)])
    #expect(try store.keys(Spaces.chunks).isEmpty)
    try expectExactUsage(store, "after \(edits)")
    let left = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
    #expect(left == ["z": 1])
  }
}
