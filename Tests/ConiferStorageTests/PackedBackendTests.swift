import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

@Suite struct PackedBackendTests {
  let backend: any StorageBackend

  init() throws { backend = try StorageConfiguration.memory.open() }

  @Test func `A tree comes back as it was written`() async throws {
    let tree = try await backend.tree(named: "main")
    let node: Node = [
      "a": 1, "b": ["c": "text", "d": true, "10": 2.5, "9": 3], "e": "é",
    ]
    try await backend.commit([.overwrite(tree, .root, node)])
    #expect(try backend.read { (view) throws(StoreError) in try view.node(tree, .root) } == node)
    try await backend.commit([.overwrite(tree, "b/c/deeper", 7)])
    let changed = node.setting(Path("b/c/deeper"), to: 7)
    #expect(try backend.read { (view) throws(StoreError) in try view.node(tree, .root) } == changed)
    #expect(
      try backend.read { (view) throws(StoreError) in try view.node(tree, "b", .last(1)) }
        == ["d": true])
    #expect(
      try backend.read { (view) throws(StoreError) in try view.node(tree, "b", .first(2)) }
        == ["10": 2.5, "9": 3])
    try await backend.commit([.overwrite(tree, "b", .empty)])
    #expect(
      try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
        == ["a": 1, "e": "é"])
  }

  @Test func `Ten thousand children are split into runs and found again`() async throws {
    let tree = try await backend.tree(named: "main")
    var children: [(Key, Node)] = []
    for index in 0..<10_000 {
      children.append(
        (
          Key("k\(index * 7919 % 100_003)"),
          ["n": Node(.integer(Int64(index))), "t": Node(.string("some text \(index)"))]
        ))
    }
    let node = Node(children: children)
    try await backend.commit([.overwrite(tree, "rooms", node)])
    let read = try backend.read { (view) throws(StoreError) in try view.node(tree, "rooms") }
    #expect(read == node)
    for (key, child) in children.prefix(200) {
      let found = try backend.read { (view) throws(StoreError) in
        try view.node(tree, Path("rooms").appending(key))
      }
      #expect(found == child)
    }
    let keys = try backend.read { (view) throws(StoreError) in
      try view.childKeys(tree, "rooms", after: nil, limit: .max)
    }
    #expect(keys == node.children.map(\.key))
    let usage = try backend.read { (view) throws(StoreError) in try view.usage(tree) }
    #expect(usage.leaves == 20_000)
    try await backend.commit([.overwrite(tree, "rooms", .empty)])
    let after = try backend.read { (view) throws(StoreError) in try view.usage(tree) }
    #expect(after.leaves == 0 && after.leafBytes == 0 && after.rawLeafBytes == 0)
  }

  @Test func `A node that lost its last child leaves no priority behind`() async throws {
    let tree = try await backend.tree(named: "main")
    let inner = Node(children: [(Key("y"), Node(.integer(1)))], priority: Priority(7))
    let node = Node(children: [(Key("x"), inner)])
    for removal in [
      StorageEdit.overwrite(tree, "a/x/y", .empty),
      .merge(tree, "a", [WriteContent.Change("x/y", .empty)]),
      .prune(tree, PruneForest(["a/x/y": .prune])),
    ] {
      try await backend.commit([.overwrite(tree, "a", node)])
      try await backend.commit([removal])
      let usage = try backend.read { (view) throws(StoreError) in try view.usage(tree) }
      #expect(usage.leaves == 0)
      try await backend.commit([.overwrite(tree, "a/x/y", 2)])
      let read = try backend.read { (view) throws(StoreError) in try view.node(tree, "a") }
      #expect(read == ["x": ["y": 2]])
    }
  }
}

@Suite struct PriorityReadTests {
  /// An export asks for the priority of every node on its way down.
  @Test func `A priority is read without the children`() async throws {
    let store = ProbeStore()
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions(decodedCache: 0))
    let tree = try await backend.tree(named: "main")
    let many = Node(
      children: (0..<30_000).map { (Key("k\($0)"), Node(.string("the value of \($0)"))) },
      priority: Priority(.integer(7)))
    try await backend.commit([
      .overwrite(tree, "a", many), .overwrite(tree, "b", Node(.bool(true), priority: "high")),
      .overwrite(tree, "c", ["d": 1]),
    ])
    for (path, expected) in [
      ("", .empty), ("a", 7), ("b", "high"), ("c", .empty), ("c/d", .empty), ("gone", .empty),
    ] as [(String, Node)] {
      let records = try store.counting {
        let place = Path(path).appending(.priority)
        let found = try backend.read { (view) throws(StoreError) in try view.node(tree, place) }
        #expect(found == expected, "\(path)")
      }
      #expect(records < 10, "\(path): \(records) records")
    }
    let whole = try store.counting {
      let found = try backend.read { (view) throws(StoreError) in try view.node(tree, "a") }
      #expect(found == many)
    }
    #expect(whole > 30)
  }
}

@Suite struct HousekeepingTests {
  @Test func `Tidy folds deltas and joins small runs until nothing is left to do`() async throws {
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let tree = try await backend.tree(named: "main")
    let children = (0..<800).map { (Key("k\($0)"), Node(.string("text number \($0)"))) }
    try await backend.commit([.overwrite(tree, "a", Node(children: children))])
    var expected = Node(children: children)
    // Small changes leave deltas; deleting most of the rest leaves small runs.
    for number in stride(from: 0, to: 800, by: 50) {
      let key = Key("k\(number)")
      try await backend.commit([.overwrite(tree, Path("a").appending(key), 7)])
      expected = expected.setting(key, to: 7)
    }
    for number in 0..<800 where number % 50 > 4 {
      let key = Key("k\(number)")
      try await backend.commit([.overwrite(tree, Path("a").appending(key), .empty)])
      expected = expected.setting(key, to: .empty)
    }
    func rows(_ space: Space) throws -> Int {
      try store.view().keys(space, prefix: []).count
    }
    let before = try rows(Spaces.runs)
    var slices = 0
    while try await backend.tidy(.milliseconds(20)), slices < 1000 { slices += 1 }
    #expect(slices < 1000)
    #expect(try rows(Spaces.deltas) == 0)
    #expect(try rows(Spaces.runs) < before)
    #expect(
      try backend.read { (view) throws(StoreError) in try view.node(tree, "a") } == expected)
    try expectExactUsage(store, "after tidy")
  }
}

@Suite struct WipeTests {
  /// A large tree, and its records' bytes.
  private static func filled() async throws -> (LeafStore, TreeID, Int) {
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let tree = try await backend.tree(named: "main")
    let text = Node(.string((0..<100_000).map { "\($0 &* 2_654_435_761 % 1_000_003)" }.joined()))
    try await backend.commit([.overwrite(tree, "a", text)])
    let bytes = try backend.usage(tree).total
    return (LeafStore(store, .none), tree, bytes)
  }

  @Test(arguments: [0.5, 2])
  func `A commit that wipes more than it adds helps to free space`(added: Double) async throws {
    let (leaves, tree, bytes) = try await Self.filled()
    let tx = LeafTransaction(try leaves.openSnapshot())
    defer { tx.close() }
    let saved = tx.state
    try Trees.wipe(tx, tree)
    let key = StoreKey.prefix(TreeID(rawValue: 0)) + StoreKey.number(1)
    try tx.put(
      Spaces.incidents, key, payload: Bytes(repeating: 7, count: Int(added * Double(bytes))))
    try tx.writeUsage()
    #expect(tx.batch().frees == (added < 1))
    tx.restore(saved)
    #expect(!tx.batch().frees)
  }

  @Test func `What a tree takes is asked without a record of it`() async throws {
    let (leaves, tree, bytes) = try await Self.filled()
    let tx = LeafTransaction(try leaves.openSnapshot())
    defer { tx.close() }
    #expect(try tx.usage(tree).usage.total == bytes)
    #expect(try tx.usage(TreeID(rawValue: 9)) == UsageRow())
    try tx.writeUsage()
    #expect(tx.state.editCount == 0)
    try tx.countQueries(tree, 1)
    #expect(try tx.usage(tree).queries == 1 && tx.usage(tree).usage.total == bytes)
    try tx.writeUsage()
    #expect(tx.state.editCount == 1)
  }
}
