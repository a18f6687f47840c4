import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What is cached decoded is what the store holds, whatever changed meanwhile, and takes what it may.
@Suite struct RunCacheTests {
  static func room(_ number: Int, messages: Int = 60) -> Node {
    Node(
      children: (0..<messages).map { index in
        (
          Key("message-\(1000 + index)"),
          Node(.string("room \(number) says \(index), and says it at some length"))
        )
      })
  }

  /// A backend of some rooms, each of a run or more.
  static func backend(
    rooms: Int = 8, cache: Int = StorageOptions.standardDecodedCache
  ) async throws -> (MemoryBackend, TreeID) {
    let options = StorageOptions(budget: nil, compression: .none, decodedCache: cache)
    let backend = try MemoryBackend(MemoryStore(), name: "memory", options: options)
    let tree = try await backend.tree(named: "main")
    for number in 0..<rooms {
      try await backend.commit([.overwrite(tree, path(number), room(number))])
    }
    return (backend, tree)
  }

  static func path(_ number: Int) -> Path { Path([Key("room-\(100 + number)")]) }

  private func read(_ backend: MemoryBackend, _ tree: TreeID, _ path: Path) throws -> Node {
    try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
  }

  @Test func `A run is cached from its second reading on`() async throws {
    let (backend, tree) = try await Self.backend()
    let leaves = LeafStore(backend.store, .none, cache: 1 << 20)
    let view = LeafSnapshot(leaves, try backend.store.view())
    defer { view.close() }
    let reader = RunReader(view: view, tree: tree)
    let key = PathKey.encode(Self.path(3), .realtimeDatabase)
    for reading in 1...3 {
      let head = try #require(try reader.run(covering: key))
      #expect((head.cached.run != nil) == (reading == 3), "reading \(reading)")
      #expect(try reader.merged(head).count > 0)
      #expect(
        leaves.generations.withRuns(\.usage).runs == (reading == 1 ? 0 : 1), "reading \(reading)")
    }
  }

  @Test func `A cached run follows every change, and an older view does not`() async throws {
    let (backend, tree) = try await Self.backend()
    let place = Self.path(3)
    for _ in 1...3 { #expect(try read(backend, tree, place) == Self.room(3)) }
    let old = try backend.store.view()
    defer { old.close() }
    var expected = Self.room(3)
    for step in 0..<40 {
      // Small edits become deltas, and now and then the run is written anew.
      let key = Key("message-\(1000 + step * 7 % 60)")
      let leaf = Node(.string(String(repeating: "changed \(step) ", count: step % 9 == 8 ? 40 : 1)))
      try await backend.commit([.overwrite(tree, place.appending(key), leaf)])
      expected = expected.setting(key, to: leaf)
      #expect(try read(backend, tree, place) == expected, "step \(step)")
      #expect(try read(backend, tree, place.appending(key)) == leaf, "step \(step)")
    }
    let view = PackedView(LeafSnapshot(backend.engine.leaves, old))
    #expect(try view.node(tree, place, .all) == Self.room(3))
    #expect(try read(backend, tree, place) == expected)
    try await backend.commit([.overwrite(tree, place, .empty)])
    #expect(try read(backend, tree, place) == .empty)
    #expect(try view.node(tree, place, .all) == Self.room(3))
  }

  @Test func `What is cached stays within its budget, and what is used stays`() async throws {
    let budget = 512 << 10
    let (backend, tree) = try await Self.backend(rooms: 80, cache: budget)
    let memory = backend.engine.leaves.generations
    for round in 0..<4 {
      for number in 0..<80 {
        #expect(try read(backend, tree, Self.path(number)) == Self.room(number))
        #expect(try read(backend, tree, Self.path(0)) == Self.room(0))
        #expect(memory.withRuns(\.usage).bytes <= budget, "round \(round), room \(number)")
      }
    }
    let view = try backend.engine.leaves.openSnapshot()
    defer { view.close() }
    let reader = RunReader(view: view, tree: tree)
    let hot = try reader.run(covering: PathKey.encode(Self.path(0), .realtimeDatabase))
    #expect(hot?.cached.run != nil)
  }

  @Test func `Nothing is cached without a budget`() async throws {
    let (backend, tree) = try await Self.backend(cache: 0)
    for _ in 1...4 { #expect(try read(backend, tree, Self.path(2)) == Self.room(2)) }
    #expect(backend.engine.leaves.generations.withRuns(\.usage).runs == 0)
  }

  @Test func `A damaged record of a cached run is met when the store is asked for it`() async throws
  {
    let (backend, tree) = try await Self.backend(rooms: 1)
    for _ in 1...3 { _ = try read(backend, tree, Self.path(0)) }
    let view = try backend.store.view()
    let key = try #require(try view.keys(Spaces.runs, prefix: []).last)
    view.close()
    try backend.store.damage(Spaces.runs, key)
    // Until the run changes, what was read is still true, and the store is not asked.
    #expect(try read(backend, tree, Self.path(0)) == Self.room(0))
    try await backend.commit([
      .overwrite(tree, Self.path(0).appending(Key("message-1007")), Node(.integer(1)))
    ])
    _ = try read(backend, tree, Self.path(0))
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(!incidents.isEmpty)
  }

  @Test func `A delta that was replaced beside the cached run is read anew`() async throws {
    func changed(_ text: String) async throws -> (MemoryBackend, TreeID) {
      let (backend, tree) = try await Self.backend(rooms: 1)
      let path = Self.path(0).appending(Key("message-1007"))
      try await backend.commit([.overwrite(tree, path, Node(.string(text)))])
      for _ in 1...3 {
        #expect(try read(backend, tree, path) == Node(.string(text)))
        _ = try read(backend, tree, Self.path(0))
      }
      return (backend, tree)
    }
    let (backend, tree) = try await changed("one")
    let (other, _) = try await changed("two")
    let keys = try backend.store.keys(Spaces.deltas)
    #expect(try keys.count == 1 && keys == other.store.keys(Spaces.deltas))
    let value = try #require(try other.store.view().value(Spaces.deltas, keys[0]))
    try backend.engine.leaves.change { (store) throws(StoreError) in
      var batch = Batch()
      batch.put(Spaces.deltas, keys[0], value)
      _ = try store.apply(batch, .relaxed)
    }
    let found = try read(backend, tree, Self.path(0))
    #expect(found[Key("message-1007")] == Node(.string("two")))
  }

  @Test func `A URL tells the memory for decoded data`() throws {
    let registry = StorageRegistry([.memory])
    let options = try registry.configuration("memory://?decoded-cache=2MB").options
    #expect(options.decodedCache == 2 << 20)
    #expect(throws: StoreError.self) { try registry.configuration("memory://?decoded-cache=lots") }
  }

  @Test(arguments: [0, 1, 2, 160, 5000])
  func `A table of keys finds each entry and no other`(count: Int) throws {
    func key(_ number: Int) -> Bytes { Bytes("rooms\u{0}r\(number)\u{0}".utf8) }
    var entries = EntryList()
    for number in 0..<count { entries.append(key(2 * number), .integer(1), nil) }
    let table = try #require(KeyTable(entries))
    entries.lend { entries in
      for number in 0..<(2 * count + 2) {
        let found = key(number).withUnsafeBytes { table.find($0, in: entries) }
        #expect(found == (number % 2 == 0 && number < 2 * count ? number / 2 : nil))
      }
    }
  }

  @Test func `A list that is too long for a table has none`() {
    var entries = EntryList()
    for number in 0..<Int(UInt16.max) { entries.append([UInt8(number >> 8), 1], .integer(1), nil) }
    #expect(KeyTable(entries) == nil)
  }
}
