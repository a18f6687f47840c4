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

  /// Which tree the entry of a name that two trees claim gives; nil where that is lost.
  @Test(arguments: [1, 2, nil] as [UInt32?])
  func `Trees that claim one name are saved both, and reported`(given: UInt32?) async throws {
    let store = ProbeStore()
    let first = try PackedBackend(store, name: "probe", options: StorageOptions())
    var trees: [TreeID] = []
    // The longest name that a tree can have.
    let (name, other) = (String(repeating: "é", count: 128), "main")
    for made in [name, other, "salvaged-4", "lost"] {
      let tree = try await first.tree(named: made)
      let write = WriteContent.set("rooms/a", Node(.string("write of \(tree.rawValue)"))).payload
      try await first.commit([
        .overwrite(tree, "rooms", ["a": Node(.integer(Int64(tree.rawValue)))]),
        .enqueue(Lane(tree: tree, identity: "ann"), write),
      ])
      trees.append(tree)
    }
    var batch = Batch()
    func put(_ key: SystemKey, _ payload: Bytes) {
      batch.put(Spaces.system, key.bytes, Record.seal(Spaces.system, key.bytes, payload))
    }
    // What a page holds that was free: tree 2 had the name of tree 1 before it was wiped.
    let entry = try #require(
      try store.view().value(Spaces.system, Trees.infoKey(trees[0])).flatMap {
        Record.open(Spaces.system, Trees.infoKey(trees[0]), $0)
      })
    put(.tree(trees[1]), entry)
    batch.delete(Spaces.system, SystemKey.treeName(other).bytes)
    if let given {
      put(.treeName(name), StoreKey.prefix(TreeID(rawValue: given)))
    } else {
      batch.delete(Spaces.system, SystemKey.treeName(name).bytes)
    }
    // All is lost of one whose new name another tree has; a name of a tree that is not there.
    batch.delete(Spaces.system, Trees.infoKey(trees[3]))
    batch.delete(Spaces.system, SystemKey.treeName("lost").bytes)
    put(.treeName("none"), StoreKey.prefix(TreeID(rawValue: 99)))
    _ = try store.apply(batch, .relaxed)

    let told = try SalvagedRegistry.mend(store)
    let renamed = given == 2 ? 1 : 2
    let new = String(repeating: "é", count: 122) + "-salvaged-\(renamed)"
    #expect(
      told == [
        "tree \(renamed) is \"\(new)\" now: another tree has its name, \"\(name)\"",
        "what tree 4 was is lost; it is \"salvaged-4-2\" now, with the key order "
          + "realtimeDatabase, which was made up",
      ])
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let target = try PackedBackend(ProbeStore(), name: "probe", options: StorageOptions())
    try await StoreCopier(source: backend, target: target, reached: { _ in }).run(
      from: CopyPosition())
    #expect(try target.verify().isSound)
    let saved = try target.read { (view) throws(StoreError) in
      var saved: [String: [String]] = [:]
      for info in try view.trees() {
        let value = try view.node(info.id, "rooms/a")
        let writes = try view.entries(
          Lane(tree: info.id, identity: "ann"), after: nil, limit: 9)
        saved[info.name] = ["\(value)"] + writes.map { "\($0.payload.bytes)" }
      }
      return saved
    }
    let kept = trees[given == 2 ? 1 : 0].rawValue
    let numbers: [String: UInt32] = [
      name: kept, new: UInt32(renamed), "salvaged-4": 3, "salvaged-4-2": 4,
    ]
    #expect(
      saved
        == numbers.mapValues {
          [
            "\(Node(.integer(Int64($0))))",
            "\(WriteContent.set("rooms/a", Node(.string("write of \($0)"))).payload.bytes)",
          ]
        })
  }
}
