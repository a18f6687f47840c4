import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What salvage makes of a tree whose entry in the registry is lost.
@Suite struct SalvagedRegistryTests {
  /// Keys, the order of their tree, and the order that is taken for it.
  static let trees: [(keys: [Key], order: KeyOrder, taken: KeyOrder, words: String)] = [
    (["plain", "é"], .utf8, .realtimeDatabase, "which was made up"),
    (["plain", "é"], .realtimeDatabase, .realtimeDatabase, "which was made up"),
    (["a", "\u{FF21}"], .utf8, .utf8, "as its records show"),
    (["a", "\u{FF21}"], .realtimeDatabase, .realtimeDatabase, "as its records show"),
    (["a", "\u{10000}"], .realtimeDatabase, .realtimeDatabase, "as its records show"),
    (["\u{10000}", "\u{1F600}"], .utf8, .utf8, "as the characters of its keys suggest"),
    (["a", "\u{1F600}"], .utf8, .utf8, "as the characters of its keys suggest"),
    (["\u{1F600}"], .realtimeDatabase, .realtimeDatabase, "as its records show"),
    (
      ["\u{100000}", "\u{10FFFD}"], .realtimeDatabase, .realtimeDatabase,
      "as the characters of its keys suggest"
    ),
    (["\u{E0100}"], .realtimeDatabase, .realtimeDatabase, "as the characters of its keys suggest"),
    (["\u{E0100}"], .utf8, .utf8, "as its records show"),
    (["7", "a"], .utf8, .utf8, "as its records show"),
    (["7", "a"], .realtimeDatabase, .realtimeDatabase, "as its records show"),
  ]

  @Test(arguments: trees)
  func `A tree whose entry is lost gets the order that its keys show`(
    keys: [Key], order: KeyOrder, taken: KeyOrder, words: String
  ) async throws {
    let store = ProbeStore()
    let first = try PackedBackend(store, name: "probe", options: StorageOptions())
    let tree = try await first.tree(named: "main", order: order)
    let node = Node(children: keys.map { ($0, Node(.string("of \($0)"))) })
    try await first.commit([.overwrite(tree, "rooms", node)])
    var batch = Batch()
    batch.delete(Spaces.system, Trees.infoKey(tree))
    _ = try store.apply(batch, .relaxed)
    let told = try SalvagedRegistry.mend(store)
    #expect(
      told == [
        "what tree 1 was is lost; it is \"main\" now, with the key order \(taken), \(words)"
      ])
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let (trees, found) = try backend.read { (view) throws(StoreError) in
      (try view.trees(), try view.node(tree, "rooms"))
    }
    #expect(trees == [TreeInfo(id: tree, name: "main", order: taken)])
    #expect(found == node)
    #expect(try backend.verify().isSound)
  }
}
