import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What queries cost, and what of the data they read.
@Suite struct IndexTests {
  static let messages: Path = "rooms/r1/messages"
  static func byTime() throws -> QuerySpec { try QuerySpec.default.ordered(byChild: "ts") }

  static func rows(_ count: Int) -> Node {
    Node(
      children: (0..<count).map {
        let text = Node(.string("a message of some words, the \($0)th of its room"))
        return (
          Key("m\(100_000 + $0)"), ["text": text, "ts": Node(.integer(Int64($0 * 3)))] as Node
        )
      })
  }

  static func index() throws -> IndexDefinition {
    try IndexDefinition("rooms/$room/messages", by: .child("ts"))
  }

  /// A backend with rooms and an index by time that is built.
  static func filled(
    _ store: MemoryStore = MemoryStore(), rooms: Int = 1, rows count: Int = 10_000,
    role: StoreRole = .cache, isBuilt: Bool = true
  ) async throws -> (MemoryBackend, TreeID) {
    let backend = try open(store, role)
    let tree = try await backend.tree(named: "main")
    for room in 1...rooms {
      try await backend.commit([.overwrite(tree, Path("rooms/r\(room)/messages"), rows(count))])
    }
    try await backend.commit([.setIndexes(tree, [index()])])
    if isBuilt { try await waitUntilIdle(backend) }
    return (backend, tree)
  }

  static func open(_ store: MemoryStore, _ role: StoreRole = .cache) throws -> MemoryBackend {
    try MemoryBackend(
      store, name: "memory",
      options: StorageOptions(budget: nil, compression: .none, role: role))
  }

  static func waitUntilIdle(_ backend: MemoryBackend) async throws {
    while try await backend.tidy(.milliseconds(50)) {}
  }

  static func query(
    _ backend: MemoryBackend, _ tree: TreeID, _ spec: QuerySpec, at path: Path = messages
  ) throws -> QueryAnswer {
    try backend.read { (view) throws(StoreError) in try view.query(tree, path, spec) }
  }

  /// Asks a query, and requires what the whole node gives.
  @discardableResult
  static func check(
    _ backend: MemoryBackend, _ tree: TreeID, _ spec: QuerySpec, at path: Path = messages
  ) throws -> QueryExplanation {
    let answer = try query(backend, tree, spec, at: path)
    let node = try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
    let expected = spec.evaluate(node)
    #expect(answer.children.map(\.key) == expected.map(\.key), "\(answer.explanation)")
    #expect(answer.children.map(\.node) == expected.map(\.node))
    return answer.explanation
  }

  @Test func `The last 50 of 10,000 touch 50 entries and a few runs`() async throws {
    let (backend, tree) = try await Self.filled()
    let spec = try Self.byTime().limited(toLast: 50)
    let cost = try Self.check(backend, tree, spec)
    #expect(cost.plan == .index(try Self.index()))
    #expect(cost.indexEntries == 50 && cost.runsRead <= 3, "\(cost)")
    let whole = try Self.check(backend, tree, Self.byTime())
    #expect(whole.plan == .node && whole.runsRead > 20 && whole.hint == nil, "\(whole)")
    #expect(cost.bytesDecoded < whole.bytesDecoded / 10)
    let range = try Self.byTime().starting(at: 600).ending(before: 660)
    let few = try Self.check(backend, tree, range)
    #expect(few.indexEntries <= 21 && few.children == 20 && few.runsRead <= 2, "\(few)")
    #expect(try Self.check(backend, tree, range, at: "rooms/none/messages").indexEntries == 0)
  }

  @Test func `Windows by key read the runs that hold them`() async throws {
    let (backend, tree) = try await Self.filled(isBuilt: false)
    let byKey = try QuerySpec.default.ordered(by: .key)
    for spec in [
      try byKey.limited(toLast: 50), try byKey.limited(toFirst: 50),
      try byKey.starting(at: "m105000").limited(toFirst: 50),
      try byKey.ending(before: "m105000").limited(toLast: 50),
    ] {
      let cost = try Self.check(backend, tree, spec)
      #expect(cost.plan == .keys && cost.runsRead <= 3 && cost.children == 50, "\(cost)")
    }
    // By priority all children are looked at, but none is built beyond the window.
    let cost = try Self.check(backend, tree, try QuerySpec.default.limited(toLast: 5))
    #expect(cost.plan == .keys && cost.hint == nil)
    try await backend.commit([.overwrite(tree, "rooms/r1/messages/m100003/.priority", 4)])
    let sorted = try Self.check(backend, tree, try QuerySpec.default.limited(toLast: 5))
    #expect(
      sorted.plan == .node
        && sorted.hint?.rule == #"".indexOn": [".priority"] at /rooms/r1/messages"#)
  }

  @Test func `Without an index a hint names the one to add`() async throws {
    let (backend, tree) = try await Self.filled(rows: 100)
    try await backend.commit([.setIndexes(tree, [])])
    let cost = try Self.check(backend, tree, try Self.byTime().limited(toLast: 5))
    #expect(cost.plan == .node && cost.building == nil)
    #expect(cost.hint == (try IndexDefinition(Self.messages, by: .child("ts"))))
    #expect(cost.description.contains(#"add ".indexOn": ["ts"] at /rooms/r1/messages"#))
    let deep = Path((0..<20).map { Key("a long segment \($0)") })
    #expect(
      try Self.query(backend, tree, try Self.byTime().limited(toLast: 5), at: deep)
        .explanation.hint == nil)
  }

  @Test func `A build goes on in slices, also after opening again, and serves what it passed`()
    async throws
  {
    let store = MemoryStore()
    func opened() -> PackedEngine {
      let options = StorageOptions(budget: nil, compression: .none)
      return PackedEngine(store, options, Activity(after: 0))
    }
    var current = opened()
    try current.writer.change(.relaxed) { (tx) throws(StoreError) in try Trees.writeFormat(tx) }
    let tree = try current.committer.tree("main", .realtimeDatabase, .relaxed)
    for room in 1...6 {
      let path = Path("rooms/r\(room)/messages")
      _ = current.group([[.overwrite(tree, path, Self.rows(1000))]], .relaxed)
    }
    _ = current.group([[.setIndexes(tree, [try Self.index()])]], .relaxed)
    let spec = try Self.byTime().limited(toLast: 5)
    func ask(_ room: Int) throws -> QueryExplanation {
      let view = PackedView(LeafSnapshot(current.leaves, try store.view()))
      let path = Path("rooms/r\(room)/messages")
      let answer = try view.query(tree, path, spec)
      #expect(answer.children.map(\.key) == spec.evaluate(try view.node(tree, path)).map(\.key))
      return answer.explanation
    }
    var fractions: [Double] = []
    var serving = 0
    while true {
      let view = PackedView(LeafSnapshot(current.leaves, try store.view()))
      let status = try #require(try view.indexes(tree).first)
      let (first, last) = (try ask(1), try ask(6))
      guard case .building(let fraction) = status.state else {
        #expect(status.entries == 6000 && first.plan != .node && last.plan != .node)
        break
      }
      fractions.append(fraction)
      if first.plan != .node, last.plan == .node {
        serving += 1
        #expect(last.building == (try Self.index()) && last.hint == nil)
      }
      // Data changes on both sides of where the build is.
      let time = Node(.integer(Int64(fractions.count * 7)))
      _ = current.group(
        [
          [
            .overwrite(tree, "rooms/r1/messages/m100500/ts", time),
            .overwrite(tree, "rooms/r6/messages/m100500/ts", time),
          ]
        ], .relaxed)
      // As after a kill: what the slices wrote is all there is.
      if fractions.count % 5 == 0 {
        current = opened()
        #expect(try current.indexBuilder.needsSliceAfterRepair())
      }
      try current.indexBuilder.slice()
    }
    #expect(serving > 5 && fractions == fractions.sorted() && fractions.count > 20, "\(fractions)")
    let backend = try Self.open(store)
    #expect(try backend.verify().isSound)
  }

  @Test func `A child at which a slice of a build ended may change`() async throws {
    let store = MemoryStore()
    let options = StorageOptions(budget: nil, compression: .none)
    let engine = PackedEngine(store, options, Activity(after: 0))
    try engine.writer.change(.relaxed) { (tx) throws(StoreError) in try Trees.writeFormat(tx) }
    let tree = try engine.committer.tree("main", .realtimeDatabase, .relaxed)
    let place = Path("rooms/r1/messages")
    _ = engine.group([[.overwrite(tree, place, Self.rows(900))]], .relaxed)
    let index = try IndexDefinition("rooms/$room/messages", by: .priority)
    _ = engine.group([[.setIndexes(tree, [index])]], .relaxed)
    var slices = 0
    while try engine.indexBuilder.needsSliceAfterRepair() {
      try engine.indexBuilder.slice()
      slices += 1
      let set = try IndexSet.read(try store.view(), tree)
      guard let position = set.indexes.first?.position, !position.isEmpty else { continue }
      // The place is a child's, not one of its leaves.
      let all = try #require(PathKey.path(position, .realtimeDatabase))
      #expect(all.count == place.count + 1, "\(all)")
      let priority = all.appending(.priority)
      _ = engine.group([[.overwrite(tree, priority, Node(.integer(Int64(slices))))]], .relaxed)
    }
    #expect(slices > 2)
    let backend = try Self.open(store)
    let report = try backend.verify()
    #expect(report.isSound, "\(report.findings)")
  }

  @Test func `A bound that leaves its own value out passes all that have it`() async throws {
    let (backend, tree) = try await Self.filled(rooms: 1, rows: 200)
    let same = (0..<400).map { WriteContent.Change(Path("n\($0)/ts"), Node(.integer(-7))) }
    try await backend.commit([.merge(tree, Self.messages, same)])
    let behind = try Self.byTime().starting(after: -7).limited(toFirst: 3)
    #expect(try Self.check(backend, tree, behind).indexEntries == 3)
    let before = try Self.byTime().ending(before: -6).limited(toLast: 3)
    #expect(try Self.check(backend, tree, before).indexEntries == 3)
    let none = try Self.byTime().ending(before: -7).limited(toLast: 3)
    #expect(try Self.check(backend, tree, none).indexEntries == 0)
  }

  @Test func `Usage counts rows, and removing the data or the index removes them`() async throws {
    let (backend, tree) = try await Self.filled(rooms: 2, rows: 500)
    func usage() throws -> StorageUsage {
      try backend.read { (view) throws(StoreError) in try view.usage(tree) }
    }
    let both = try usage().indexes
    #expect(both > 1000 * 30 && both < 1000 * 60, "\(both)")
    #expect(try usage().budgeted >= both)
    try await backend.commit([.overwrite(tree, "rooms/r1", .empty)])
    let one = try usage().indexes
    #expect(abs(one - both / 2) < 200, "\(one)")
    #expect(try backend.usageDrift().isEmpty)
    // Nothing covers the rest: it goes, and its rows with it.
    _ = try await backend.evict(to: 0, dryRun: false)
    #expect(try usage().indexes < 300 && usage().leaves == 0)
    try await backend.commit([.overwrite(tree, Self.messages, Self.rows(500))])
    #expect(try usage().indexes > both / 3)
    try await backend.commit([.setIndexes(tree, [])])
    try await Self.waitUntilIdle(backend)
    #expect(try usage().indexes < 100)
    #expect(try backend.usageDrift().isEmpty && backend.verify().isSound)
    try await backend.commit([.wipe(tree)])
    #expect(
      try backend.read { (view) throws(StoreError) in try view.usage(nil) }.indexes == 0)
  }

  @Test func `Children whose keys an entry cannot hold share one, and leave it one by one`()
    async throws
  {
    let (backend, tree) = try await Self.filled(rows: 20)
    let keys = ["a", "b", "c"].map { Key(String(repeating: "k", count: 230) + $0) }
    let spec = try Self.byTime().limited(toLast: 2)
    for key in keys {
      try await backend.commit([.overwrite(tree, Self.messages.appending(key), ["ts": 999])])
      try Self.check(backend, tree, spec)
    }
    for key in [keys[1], keys[2], keys[0]] {
      try await backend.commit([.overwrite(tree, Self.messages.appending(key), .empty)])
      let plan = try Self.check(backend, tree, spec).plan
      #expect(plan == .index(try Self.index()))
      #expect(try backend.verify().isSound)
    }
  }

  @Test func `An equal write writes nothing of an index either`() async throws {
    let store = MemoryStore()
    let (backend, tree) = try await Self.filled(store, rows: 300)
    let before = try DamageTests.records(store)
    try await backend.commit([.overwrite(tree, Self.messages, Self.rows(300))])
    let after = try DamageTests.records(store)
    #expect(before.count == after.count && zip(before, after).allSatisfy { $0 == $1 })
  }

  @Test func `Trees of another order take no indexes, and queries give what they did`() async throws
  {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "documents", order: .utf8)
    let refused = await #expect(throws: StoreError.self) {
      try await backend.commit([.setIndexes(tree, [Self.index()])])
    }
    #expect(refused?.code == .invalid)
    try await backend.commit([
      .setIndexes(tree, []), .overwrite(tree, "d", ["10": ["ts": 1], "9": ["ts": 1]]),
    ])
    try Self.check(backend, tree, try Self.byTime().limited(toLast: 1), at: "d")
    try Self.check(
      backend, tree, try QuerySpec.default.ordered(by: .key).limited(toLast: 1), at: "d")
  }
}
