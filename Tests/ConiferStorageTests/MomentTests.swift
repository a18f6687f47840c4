import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferStorage

/// What is answered from memory is of one moment, and of an open store.
@Suite struct MomentTests {
  private static let leaf = RunCacheTests.path(1).appending(Key("message-1007"))

  /// A backend of which one run was read so often that the store need not be asked.
  private func warm() async throws -> (MemoryBackend, TreeID) {
    let (backend, tree) = try await RunCacheTests.backend(rooms: 4)
    for _ in 1...3 {
      for number in 0..<4 {
        _ = try backend.read { (view) throws(StoreError) in
          try view.node(tree, RunCacheTests.path(number))
        }
      }
    }
    return (backend, tree)
  }

  @Test func `A leaf and a node that are known need no view of the store`() async throws {
    let (backend, tree) = try await warm()
    let late = LateView(backend.store, backend.engine.moments)
    let view = PackedView(late, codec: backend.engine.codec, longestKey: .max)
    #expect(try view.node(tree, Self.leaf, .all) == RunCacheTests.room(1)[Key("message-1007")])
    #expect(try view.node(tree, RunCacheTests.path(1), .all) == RunCacheTests.room(1))
    try await backend.close()
    // It was never opened, so that its first question to the store fails.
    #expect(throws: StoreError.self) { try late.open() }
  }

  @Test func `A node that is read alone is the one that a view gives`() async throws {
    let (backend, tree) = try await warm()
    let heavy = Self.leaf.parent?.appending(Key("heavy")) ?? .root
    func check(_ when: String) throws {
      for path in [Self.leaf, heavy, heavy.appending(.priority), RunCacheTests.path(1), "nowhere"] {
        let seen = try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
        #expect(try backend.node(tree, path) == seen, "\(path) \(when)")
      }
    }
    try check("at first")
    try await backend.commit([
      .overwrite(tree, Self.leaf, Node(.integer(4))),
      .overwrite(tree, heavy, Node(.string("x"), priority: Priority(.integer(2)))),
    ])
    for reading in 1...3 { try check("after a change, reading \(reading)") }
    #expect(try backend.node(tree, Self.leaf) == Node(.integer(4)))
    #expect(try backend.node(tree, heavy).priority == Priority(.integer(2)))
    #expect(try backend.node(tree, heavy.appending(.priority)) == Node(.integer(2)))
    try await backend.commit([.overwrite(tree, Self.leaf, .empty)])
    for reading in 1...3 { try check("after it is gone, reading \(reading)") }
    #expect(try backend.node(tree, Self.leaf).isEmpty)
    #expect(throws: StoreError.self) { try backend.node(TreeID(rawValue: 99), Self.leaf) }
    try await backend.suspend()
    #expect(throws: StoreError.self) { try backend.node(tree, heavy) }
    try await backend.resume()
    try check("after a suspension")
    try await backend.close()
    #expect(throws: StoreError.self) { try backend.node(tree, heavy) }
  }

  @Test func `A commit in between makes the closure read again`() async throws {
    let (backend, tree) = try await warm()
    let other: Path = "elsewhere"
    try await backend.commit([.overwrite(tree, other, Node(.integer(1)))])
    _ = try backend.read { (view) throws(StoreError) in try view.node(tree, RunCacheTests.path(1)) }
    _ = try backend.read { (view) throws(StoreError) in try view.node(tree, Self.leaf) }
    var calls = 0
    let (first, second) = try backend.read { (view) throws(StoreError) in
      calls += 1
      let first = try view.node(tree, Self.leaf)
      if calls == 1 {
        _ = try backend.commitAndWait(
          [
            .overwrite(tree, Self.leaf, Node(.integer(2))),
            .setMetadata(tree, "seen", [2]),
          ], .relaxed)
      }
      return (first, try view.metadata(tree, "seen"))
    }
    #expect(calls == 2)
    #expect(first == Node(.integer(2)))
    #expect(second == [2])
  }

  @Test func `A change that is no change of data leaves what is known of it`() async throws {
    let (backend, tree) = try await warm()
    let before = try #require(backend.engine.moments.current)
    let write = WriteContent.set("a", Node(.integer(1)), time: 1)
    try await backend.commit([.enqueue(Lane(tree: tree), write)])
    let after = try #require(backend.engine.moments.current)
    #expect(after.number > before.number)
    #expect(after.sees(before.number))
    try await backend.commit([.overwrite(tree, Self.leaf, Node(.integer(3)))])
    let last = try #require(backend.engine.moments.current)
    #expect(!last.sees(after.number))
    let read = try backend.read { (view) throws(StoreError) in try view.node(tree, Self.leaf) }
    #expect(read == Node(.integer(3)))
  }

  @Test func `What is known is no answer once the store is let go of`() async throws {
    let (backend, tree) = try await warm()
    func read() throws {
      _ = try backend.read { (view) throws(StoreError) in try view.node(tree, Self.leaf) }
    }
    try read()
    try await backend.suspend()
    #expect(backend.engine.moments.current == nil)
    try await backend.resume()
    #expect(backend.engine.moments.current != nil)
    try read()
    try await backend.close()
    #expect(throws: StoreError.self) { try read() }
  }

  @Test func `Leaves that wait are counted as they will be`() async throws {
    var children: [(Key, Node)] = []
    for index in 0..<200 {
      let name = index % 3 == 0 ? "\(index)" : "k\(index)é\u{1F332}"
      var fields: [(Key, Node)] = [
        (Key("text"), Node(.string("text é \(index)"))), (Key("7"), Node(.double(1.5))),
        (Key("on"), Node(.bool(index % 2 == 0))), (Key("ts"), Node(.integer(Int64(index)))),
        (Key("a\u{1}b\u{0}\u{FFFF}"), Node(.integer(1))),
      ]
      if index % 17 == 0 { fields.append((Key("deep"), ["er": 1])) }
      if index % 19 == 0 { fields[0].1 = Node(.string("x"), priority: Priority(.integer(2))) }
      if index % 23 == 0 { fields.append((Key("at"), Node(.serverValue(.timestamp)))) }
      if index % 29 == 0 {
        fields += (0..<40).map { (Key("field\($0)"), Node(.integer(Int64($0)))) }
      }
      children.append((Key(name), Node(children: fields)))
    }
    let node = Node(children: children)
    let options = StorageOptions(budget: nil)
    let backend = try MemoryBackend(MemoryStore(), name: "memory", options: options)
    let tree = try await backend.tree(named: "main")
    try await backend.commit([.overwrite(tree, "all", node)])
    for reading in 1...3 {
      let found = try backend.read { (view) throws(StoreError) in try view.node(tree, "all") }
      #expect(found.leafCount == node.leafCount, "reading \(reading)")
      #expect(found.estimatedSize == node.estimatedSize)
      #expect(found.depth == node.depth)
      #expect(found.childCount == node.childCount)
      #expect(found.hasServerValues == node.hasServerValues)
      for (key, child) in node.children {
        #expect(found[key].estimatedSize == child.estimatedSize)
        #expect(found[key].childCount == child.childCount)
        #expect(found[key].hasChildPriorities == child.hasChildPriorities)
      }
      #expect(found == node)
      #expect(found.json() == node.json())
    }
  }
}
