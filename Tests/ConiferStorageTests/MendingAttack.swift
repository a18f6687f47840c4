import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// An engine, what it must hold, and a seed that says what happens.
struct MendingAttack {
  /// What a tree must hold.
  struct Content {
    let name: String
    var id: TreeID
    var rooms: [Key: Node] = [:]
    var waiting: [WriteID: Path] = [:]
    var rejected: [WriteID: Path] = [:]
    var queries: [Key: QueryID] = [:]
    var lane: Lane { Lane(tree: id, identity: "ann") }
  }

  let seed: UInt64
  var random: Seeded
  var store: ProbeStore
  var engine: PackedEngine
  var trees: [Content] = []
  var steps: [String] = []
  var damaged: [StoreError.Place] = []
  init(_ seed: UInt64) throws {
    self.seed = seed
    random = Seeded(seed)
    store = ProbeStore(bestValueSize: 1024)
    engine = PackedEngine(store, StorageOptions(compression: .none), Activity(after: 0))
    try engine.writer.change(.power) { (tx) throws(StoreError) in try Trees.writeFormat(tx) }
    for name in ["first", "second"] {
      trees.append(
        Content(name: name, id: try engine.committer.tree(name, .realtimeDatabase, .process)))
      for _ in 0..<14 { try commit(trees.count - 1) }
    }
    for tree in trees.indices { try loseUsage(tree) }
  }

  /// Where it is, for what an expectation says.
  var place: String { "seed \(seed), after \(steps.suffix(12).joined(separator: ", "))" }

  // MARK: Steps

  mutating func step() throws {
    let tree = random.below(trees.count)
    switch random.below(20) {
    case 0..<8: try commit(tree)
    case 8..<11: engine.mender.slice()
    case 11..<14: try lose(tree)
    case 14: try evict()
    case 15: try crash()
    case 16: try reopen()
    case 17: try suspend()
    case 18: try fill(tree)
    default: try clear(tree)
    }
    try check()
  }

  /// Ends the mending and looks at everything; what nobody has met of the damage is met now.
  mutating func end() throws {
    for place in damaged { try? engine.repairer.repair(place) }
    try adopt()
    for tree in trees.indices { try loseUsage(tree) }
    // A full disk has made it wait.
    _ = engine.group([[.setMetadata(trees[0].id, "end", [1])]])
    var slices = 0
    while engine.mender.hasWork, slices < 1000 {
      engine.mender.slice()
      slices += 1
    }
    try hold(try MendingMarker.first(store.view()) == nil, "not mended")
    try check()
    try expectExactUsage(store.base, place)
    let backend = try PackedBackend(
      store, name: "probe", options: StorageOptions(compression: .none))
    let report = try backend.verify()
    try hold(report.isSound, "\(report.findings.prefix(2))")
  }

  mutating func commit(_ tree: Int) throws {
    let content = trees[tree]
    let room = Key("r\(random.below(5))")
    let path = Path("rooms").appending(room)
    let query = TrackedQuery(tree: content.id, path: path, isComplete: true)
    switch random.below(12) {
    case 0..<3:
      let node = Node(
        children: (0..<random.below(60)).map { number in
          (Key("m\(number)"), Node(.string("message \(random.below(1000)) with a few more words")))
        })
      let receipt = try apply("room", [.overwrite(content.id, path, node), .saveQuery(query)])
      trees[tree].rooms[room] = node
      if let id = receipt.queries.first { trees[tree].queries[room] = id }
    case 3, 4:
      // A delta, in most cases.
      let child = Key("m\(random.below(60))")
      let node = random.one(in: 4) ? Node.empty : Node(.integer(Int64(random.below(1000))))
      try apply("child", [.overwrite(content.id, path.appending(child), node)])
      let old = trees[tree].rooms[room] ?? .empty
      trees[tree].rooms[room] = old.setting(Path([child]), to: node)
    case 5:
      let large = Node(.string(String(repeating: "large \(random.below(9)) ", count: 40_000)))
      try apply("large", [.overwrite(content.id, path.appending(Key("large")), large)])
      let old = trees[tree].rooms[room] ?? .empty
      trees[tree].rooms[room] = old.setting(Path("large"), to: large)
    case 6, 7:
      let size = random.one(in: 3) ? 9000 : 10
      let node = Node(.string(String(repeating: "w", count: size)))
      let receipt = try apply("write", [.enqueue(content.lane, .set(path, node))])
      if let id = receipt.writes.first {
        try hold(content.waiting[id] == nil && content.rejected[id] == nil, "the number \(id)")
        trees[tree].waiting[id] = path
      }
    case 8:
      guard let id = content.waiting.keys.sorted().first else { return }
      try apply("finish", [.finish(content.lane, id, .acknowledged)])
      trees[tree].waiting[id] = nil
    case 9:
      guard let (id, path) = content.waiting.max(by: { $0.key < $1.key }) else { return }
      try apply("reject", [.setState(content.lane, id, .rejected(reason: "no"))])
      trees[tree].waiting[id] = nil
      trees[tree].rejected[id] = path
    case 10:
      guard let (id, path) = content.rejected.min(by: { $0.key < $1.key }) else { return }
      try apply("retry", [.setState(content.lane, id, .queued)])
      trees[tree].rejected[id] = nil
      trees[tree].waiting[id] = path
    default:
      guard let id = content.queries[room] else { return }
      try apply("query", [.setTrackedKeys(content.id, id, ["a", Key("k\(random.below(9))")])])
      if random.one(in: 2) {
        try apply("unlisten", [.removeQuery(content.id, id)])
        trees[tree].queries[room] = nil
      }
    }
  }

  @discardableResult
  mutating func apply(_ what: String, _ edits: [StorageEdit]) throws -> CommitReceipt {
    steps.append(what)
    let answer = engine.group([edits])[0]
    if case .failure(let error) = answer { try hold(false, "\(error)") }
    return try answer.get()
  }

  mutating func clear(_ tree: Int) throws {
    let content = trees[tree]
    switch random.below(4) {
    case 0:
      try apply("wipe", [.wipe(content.id)])
      let id = try engine.committer.tree(content.name, .realtimeDatabase, .process)
      trees[tree] = Content(name: content.name, id: id)
    case 1:
      try apply("purge", [.purge(content.lane)])
      (trees[tree].waiting, trees[tree].rejected) = ([:], [:])
    default:
      try apply("remove all", [.overwrite(content.id, "rooms", .empty)])
      trees[tree].rooms = [:]
    }
  }

  // MARK: Looking

  func read<R>(_ body: (PackedView) throws(StoreError) -> R) throws -> R {
    try engine.repairer.retrying { (_) throws(StoreError) in
      let view = LeafSnapshot(engine.leaves)
      defer { view.close() }
      try view.open()
      return try body(PackedView(view))
    }
  }

  /// Everything is as the model has it.
  func check() throws {
    for content in trees {
      let (rooms, queries, waiting, rejected, totals, touching) = try read {
        (view) throws(StoreError) in
        let waiting = try view.writes(content.lane, after: nil, limit: 999)
        var touching: [WriteID: [WriteID]] = [:]
        for write in waiting {
          touching[write.id] = try view.pendingWrites(
            content.lane, touching: write.content.path)
        }
        var queries: [Key: QueryID] = [:]
        for room in content.queries.keys {
          let path = Path("rooms").appending(room)
          queries[room] = try view.trackedQuery(content.id, path, "default")?.id
        }
        return (
          try view.node(content.id, "rooms"), queries, waiting,
          try view.rejectedWrites(content.lane, after: nil, limit: 999),
          try view.totals(content.lane), touching
        )
      }
      for (room, node) in content.rooms { try hold(rooms[room] == node, "room \(room)") }
      try hold(queries == content.queries, "queries \(queries), not \(content.queries)")
      try hold(waiting.map(\.id) == content.waiting.keys.sorted(), "waiting")
      try hold(rejected.map(\.id) == content.rejected.keys.sorted(), "rejected")
      try hold(totals.pending == waiting.count && totals.rejected == rejected.count, "totals")
      for (id, found) in touching { try hold(found.contains(id), "the path of write \(id)") }
    }
  }

  func hold(_ isSo: Bool, _ what: String) throws {
    if !isSo { throw Broken(description: "\(what): \(place)") }
  }

  struct Broken: Error, CustomStringConvertible { let description: String }
}
