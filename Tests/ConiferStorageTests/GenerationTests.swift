@_spi(Stores) import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What is answered from memory is of one generation, and of an open store.
@Suite struct GenerationTests {
  private static let leaf = RunCacheTests.path(1).appending(Key("message-1007"))

  /// A backend of which one run was read so often that the store need not be asked.
  private func warm(rooms: Int = 4) async throws -> (MemoryBackend, TreeID) {
    let (backend, tree) = try await RunCacheTests.backend(rooms: rooms)
    for _ in 1...3 {
      for number in 0..<rooms {
        _ = try backend.read { (view) throws(StoreError) in
          try view.node(tree, RunCacheTests.path(number))
        }
      }
    }
    return (backend, tree)
  }

  @Test func `A leaf and a node that are known need no view of the store`() async throws {
    let (backend, tree) = try await warm()
    let snapshot = backend.engine.leaves.snapshot()
    let view = PackedView(snapshot)
    #expect(try view.node(tree, Self.leaf, .all) == RunCacheTests.room(1)[Key("message-1007")])
    #expect(try view.node(tree, RunCacheTests.path(1), .all) == RunCacheTests.room(1))
    try await backend.close()
    // It was never opened, so that its first question to the store fails.
    #expect(throws: StoreError.self) { try snapshot.open() }
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

  @Test func `What a torn view gave is thrown away, also where its error was caught`() async throws
  {
    let (backend, tree) = try await warm()
    _ = try backend.read { (view) throws(StoreError) in try view.node(tree, Self.leaf) }
    var calls = 0
    let (first, second) = try backend.read { (view) throws(StoreError) in
      calls += 1
      let first = try view.node(tree, Self.leaf)
      if calls == 1 {
        let edit = StorageEdit.overwrite(tree, Self.leaf, Node(.integer(2)))
        _ = try backend.commitAndWait([edit, .setMetadata(tree, "seen", [2])], .relaxed)
      }
      return (first, (try? view.metadata(tree, "seen")) ?? nil)
    }
    #expect(calls == 2)
    #expect(first == Node(.integer(2)))
    #expect(second == [2])
  }

  @Test func `A view that a commit came before is of no generation that is known`() throws {
    let store = ProbeStore()
    let leaves = LeafStore(store, .none)
    let tree = TreeID(rawValue: 1)
    @Sendable func commit() {
      do {
        let tx = try leaves.transaction()
        try tx.put(Spaces.metadata, StoreKey.prefix(tree) + [1], payload: [1])
        _ = try leaves.apply(tx, tx.batch(), .relaxed)
      } catch { Issue.record(error) }
    }
    let quiet = try leaves.openSnapshot()
    #expect(quiet.generation == leaves.generations.newest)
    let isFirst = Mutex(true)
    store.willView.withLock {
      $0 = {
        // The commit opens a view, too.
        let isMine = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        if isMine { commit() }
      }
    }
    let late = try leaves.openSnapshot()
    #expect(late.generation == nil)
    #expect(try late.value(Spaces.metadata, StoreKey.prefix(tree) + [1]) != nil)
    for view in [quiet, late] { view.close() }
  }

  @Test func `While a store changes it is not known what a view shows`() {
    let memory = Generations(cache: 1 << 20)
    #expect(memory.stable == 1 && memory.newest == 1)
    memory.begin()
    #expect(memory.stable == nil && memory.newest == 1)
    memory.publish(LeafTransaction.State())
    #expect(memory.stable == 2 && memory.newest == 2)
    memory.begin()
    memory.publishUnknown()
    #expect(memory.stable == 3)
    memory.stop()
    #expect(memory.stable == nil && memory.newest == nil)
    memory.resume()
    #expect(memory.stable == memory.newest && memory.newest == 4)
  }

  /// What a change does to what is known of one tree.
  private enum Change: CaseIterable {
    case nothing, other, record, clear, clearsRuns, unknown
  }

  private final class Known: Sendable {}

  @Test(arguments: Change.allCases)
  private func `What a change may have touched is not known any more`(change: Change) {
    let (memory, tree) = (Generations(cache: 1 << 20), TreeID(rawValue: 1))
    let key = StoreKey.prefix(tree) + [7]
    let run = KnownRunTests.run("a", number: 1)
    memory.withRuns { $0.add(tree, run) }
    memory.confirm(tree, run, at: 1)
    memory.setNext(nil, after: run.head.storeKey, tree, at: 1)
    memory.keep(Known(), Spaces.dictionaries, tree, key, at: 1)
    var state = LeafTransaction.State()
    switch change {
    case .nothing, .unknown: break
    case .other: state.edits[Spaces.dictionaries, default: SortedBytes()][key + [1]] = .some([1])
    case .record: state.edits[Spaces.dictionaries, default: SortedBytes()][key] = .some(nil)
    case .clear:
      state.cleared[Spaces.dictionaries, default: ClearedRanges()].add(from: key, to: key + [0])
    case .clearsRuns:
      state.cleared[Spaces.runs, default: ClearedRanges()].add(from: [9], to: [10])
    }
    memory.begin()
    if change == .unknown { memory.publishUnknown() } else { memory.publish(state) }
    let isRunKnown = memory.withRuns { $0.covering(tree, Bytes("a".utf8) + [1], at: 2) } != nil
    #expect(isRunKnown == ![.clearsRuns, .unknown].contains(change))
    let isObjectKnown = memory.object(Spaces.dictionaries, tree, at: 2) != nil
    #expect(isObjectKnown == [.nothing, .other, .clearsRuns].contains(change))
  }

  @Test func `What was read at an older generation is not kept for the newest`() {
    let (memory, tree) = (Generations(cache: 1 << 20), TreeID(rawValue: 1))
    let run = KnownRunTests.run("a", number: 1)
    memory.withRuns { $0.add(tree, run) }
    memory.publish(LeafTransaction.State())
    memory.keep(Known(), Spaces.dictionaries, tree, [7], at: 1)
    #expect(memory.object(Spaces.dictionaries, tree, at: 2) == nil)
    memory.confirm(tree, run, at: 1)
    #expect(memory.withRuns { $0.covering(tree, Bytes("a".utf8) + [1], at: 2) } == nil)
    memory.confirm(tree, run, at: 2)
    memory.setNext(nil, after: run.head.storeKey, tree, at: 1)
    #expect(memory.withRuns { $0.next(tree, run.head.storeKey, at: 2) } == nil)
    memory.publish(LeafTransaction.State())
    memory.setNext(nil, after: run.head.storeKey, tree, at: 2)
    #expect(memory.withRuns { $0.next(tree, run.head.storeKey, at: 3) } == nil)
    // And the other way round.
    memory.keep(Known(), Spaces.dictionaries, tree, [7], at: 3)
    #expect(memory.object(Spaces.dictionaries, tree, at: 3) != nil)
    #expect(memory.object(Spaces.dictionaries, tree, at: 2) == nil)
  }

  @Test func `A commit leaves in memory what it does not change`() async throws {
    let (backend, tree) = try await warm(rooms: 24)
    let leaves = backend.engine.leaves
    let before = try #require(leaves.generations.newest)
    let write = WriteContent.set("a", Node(.integer(1)), time: 1)
    try await backend.commit([.enqueue(Lane(tree: tree), write)])
    try await backend.commit([.overwrite(tree, RunCacheTests.path(23), Node(.integer(1)))])
    #expect(try #require(leaves.generations.newest) > before)
    #expect(leaves.leafFromMemory(tree, Self.leaf) == RunCacheTests.room(1)[Key("message-1007")])
    try await backend.commit([.overwrite(tree, Self.leaf, Node(.integer(3)))])
    #expect(leaves.leafFromMemory(tree, Self.leaf) == nil)
    let read = try backend.read { (view) throws(StoreError) in try view.node(tree, Self.leaf) }
    #expect(read == Node(.integer(3)))
    #expect(leaves.leafFromMemory(tree, Self.leaf) == Node(.integer(3)))
    try await backend.commit([.wipe(tree)])
    #expect(leaves.leafFromMemory(tree, Self.leaf) == nil)
    #expect(throws: StoreError.self) { try backend.node(tree, Self.leaf) }
  }

  /// Reads between commits that write, remove, cut and join runs: each is of one generation.
  @Test(arguments: 0..<12 as Range<UInt64>)
  func `Whatever is committed, memory and the store give one tree`(seed: UInt64) async throws {
    var random = Seeded(seed)
    let options = StorageOptions(budget: nil, compression: .none)
    let backend = try PackedBackend(
      ProbeStore(bestValueSize: 1024), name: "probe", options: options)
    let tree = try await backend.tree(named: "main")
    var model = Node.empty
    for step in 0..<150 {
      let old = PackedView(backend.engine.leaves.snapshot())
      let place = Path((0..<2).map { _ in Key("k\(Int.random(in: 0..<6, using: &random))") })
      if random.one(in: 3) {
        _ = try backend.node(tree, place)
        let node = try old.node(tree, place, .all)
        try #require(node == model[place], "seed \(seed), step \(step)")
      }
      let before = model
      if random.one(in: 4) {
        let path = random.one(in: 3) ? Path([place.keys[0]]) : place
        model = model.setting(path, to: .empty)
        try await backend.commit([.overwrite(tree, path, .empty)])
      } else {
        let path = place.appending(Key("leaf\(Int.random(in: 0..<9, using: &random))"))
        let text = String(repeating: "x", count: .random(in: 0...400, using: &random))
        model = model.setting(path, to: Node(.string("\(step) \(text)")))
        try await backend.commit([.overwrite(tree, path, Node(.string("\(step) \(text)")))])
      }
      if random.one(in: 9) { _ = try await backend.tidy(.seconds(1)) }
      for reading in 1...2 {
        let other = Path((0..<2).map { _ in Key("k\(Int.random(in: 0..<6, using: &random))") })
        for path in [place, other, Path([other.keys[0]])] {
          let expected = model[path]
          let words: Comment = "seed \(seed), step \(step), \(path), reading \(reading)"
          try #require(try backend.node(tree, path) == expected, words)
          let seen = try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
          try #require(seen == expected, words)
        }
      }
      // What was begun before the commit is of the time before, as far as it answers.
      let seen = Result { () throws(StoreError) in try old.node(tree, place, .all) }
      switch seen {
      case .success(let node):
        let isOfOneTime = node == before[place] || node == model[place]
        try #require(isOfOneTime, "seed \(seed), step \(step)")
      case .failure(let error):
        try #require(error.code == .torn, "seed \(seed), step \(step): \(error)")
      }
    }
  }

  @Test func `What is known is no answer once the store is let go of`() async throws {
    let (backend, tree) = try await warm()
    func read() throws {
      _ = try backend.read { (view) throws(StoreError) in try view.node(tree, Self.leaf) }
    }
    try read()
    try await backend.suspend()
    #expect(backend.engine.leaves.generations.newest == nil)
    try await backend.resume()
    #expect(backend.engine.leaves.generations.newest != nil)
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
