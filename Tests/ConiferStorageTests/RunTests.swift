import ConiferKeyValue
import ConiferTree
import Testing

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
    #expect(try store.keys(Spaces.parts).isEmpty)
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
}
