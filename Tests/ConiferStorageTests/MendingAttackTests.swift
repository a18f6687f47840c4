import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// While two trees are mended, anything may happen between two slices: commits, losses, evictions, a full
/// disk, and the end of the process. What is not damaged stays as a plain model has it.
@Suite struct MendingAttackTests {
  @Test(arguments: Seeded.seeds(12))
  func `Whatever comes between its slices, a mending comes to its end`(seed: UInt64) throws {
    var attack = try MendingAttack(seed)
    for _ in 0..<100 { try attack.step() }
    try attack.end()
  }

  @Test(arguments: Seeded.seeds(4))
  func `A mending may be cut off behind every slice`(seed: UInt64) throws {
    var attack = try MendingAttack(seed)
    for _ in 0..<60 {
      attack.engine.mender.slice()
      try attack.crash()
      try attack.step()
    }
    try attack.end()
  }
}

/// An engine, what it must hold, and a seed that says what happens.
struct MendingAttack {
  /// What a tree must hold.
  private struct Content {
    let name: String
    var id: TreeID
    var rooms: [Key: Node] = [:]
    var waiting: [WriteID: Path] = [:]
    var rejected: [WriteID: Path] = [:]
    var queries: [Key: QueryID] = [:]
    var lane: Lane { Lane(tree: id, identity: "ann") }
  }

  private let seed: UInt64
  private var random: Seeded
  private var store: ProbeStore
  private(set) var engine: PackedEngine
  private var trees: [Content] = []
  private var steps: [String] = []
  private var damaged: [StoreError.Place] = []
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
  private var place: String { "seed \(seed), after \(steps.suffix(12).joined(separator: ", "))" }

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

  private mutating func commit(_ tree: Int) throws {
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
  private mutating func apply(_ what: String, _ edits: [StorageEdit]) throws -> CommitReceipt {
    steps.append(what)
    let answer = engine.group([edits])[0]
    if case .failure(let error) = answer { try hold(false, "\(error)") }
    return try answer.get()
  }

  private mutating func clear(_ tree: Int) throws {
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

  // MARK: Losses

  private func damageable(_ tree: TreeID) throws -> [(space: Space, key: Bytes)] {
    let spaces = [
      Spaces.runs, Spaces.runs, Spaces.deltas, Spaces.chunks, Spaces.queries, Spaces.queryIndex,
      Spaces.queryKeys, Spaces.queue, Spaces.queueParts, Spaces.finished, Spaces.incidents,
    ]
    return try spaces.flatMap { space in
      try store.base.view().keys(space, prefix: StoreKey.prefix(tree)).map { (space, $0) }
    }
  }

  private mutating func loseUsage(_ tree: Int) throws {
    let key = StoreKey.prefix(trees[tree].id)
    steps.append("lose usage \(tree)")
    if random.one(in: 2) {
      try store.base.damage(Spaces.usage, key)
    } else {
      var batch = Batch()
      batch.delete(Spaces.usage, key)
      _ = try store.base.apply(batch, .relaxed)
    }
    try store.keep()
    try engine.repairer.repair(StoreError.Place(space: Spaces.usage.id, key: key))
  }

  /// Damages some records, or removes one that others do not tell of, and takes what is left.
  private mutating func lose(_ tree: Int) throws {
    let id = trees[tree].id
    if random.one(in: 5) { return try loseUsage(tree) }
    var places: [StoreError.Place] = []
    for _ in 0...random.below(3) {
      let all = try damageable(id)
      guard !all.isEmpty else { return }
      let record = random.pick(all)
      steps.append("damage \(record.space.id) of \(tree)")
      try store.base.damage(record.space, record.key)
      places.append(StoreError.Place(space: record.space.id, key: record.key))
    }
    damaged += places
    try store.keep()
    // What is known of the moment would hide it.
    engine.leaves.generations.publishUnknown()
    if random.one(in: 2) { for place in places { try engine.repairer.repair(place) } }
    try adopt()
  }

  private mutating func evict() throws {
    steps.append("evict")
    let view = try store.view()
    defer { view.close() }
    var run = try Eviction(view, to: random.below(60_000))
    while !run.isDone { run = try engine.evictor.slice(run) }
    // A crash may bring back what went.
    try store.keep()
    try adopt()
  }

  /// Takes over what is left, which must be what was there, without what is known to be lacking.
  private mutating func adopt() throws {
    for index in trees.indices {
      let content = trees[index]
      let (found, queries, waiting, rejected) = try read { (view) throws(StoreError) in
        (
          try view.node(content.id, "rooms"),
          try view.trackedQueries(content.id, after: nil, limit: 99),
          try view.writes(content.lane, after: nil, limit: 999),
          try view.rejectedWrites(content.lane, after: nil, limit: 999)
        )
      }
      for (room, node) in content.rooms {
        let left = found[room]
        for (key, child) in left.children { try hold(child == node[key], "\(room)/\(key)") }
        let isComplete = queries.contains {
          $0.query.path == Path("rooms").appending(room) && $0.query.isComplete
        }
        try hold(left == node || !isComplete, "\(room) is not complete")
        trees[index].rooms[room] = left
      }
      trees[index].queries = content.queries.filter { _, id in queries.contains { $0.id == id } }
      let incidents = try Incidents.all(try store.view())
      let lost = content.waiting.count + content.rejected.count - waiting.count - rejected.count
      let told = incidents.count { $0.tree == content.id && $0.kind == .writeSetAside }
      try hold(lost >= 0 && lost <= told, "\(lost) writes are lost")
      trees[index].waiting = content.waiting.filter { id, _ in waiting.contains { $0.id == id } }
      trees[index].rejected = content.rejected.filter { id, _ in rejected.contains { $0.id == id } }
    }
  }

  /// Refuses for lack of space what changes more than a little, for a few slices.
  private mutating func fill(_ tree: Int) throws {
    steps.append("full disk")
    store.mostEdits.withLock { $0 = random.below(4) }
    for _ in 0...random.below(4) { engine.mender.slice() }
    store.mostEdits.withLock { $0 = .max }
    try commit(tree)
  }

  // MARK: Life

  private mutating func open(_ base: MemoryStore) throws {
    store = ProbeStore(base, bestValueSize: 1024)
    try store.keep()
    engine = PackedEngine(store, StorageOptions(compression: .none), Activity(after: 0))
    try engine.repairer.recover(from: [])
    try engine.mender.resume()
  }

  /// Opens what the death of the process leaves.
  mutating func crash() throws {
    steps.append("crash")
    let left = MemoryStore()
    var batch = Batch()
    let view = try #require(store.kept.withLock { $0 })
    for space in Spaces.all {
      for record in try view.entries(space, prefix: []) {
        batch.put(space, record.key, record.value)
      }
    }
    _ = try left.apply(batch, .relaxed)
    try open(left)
  }

  private mutating func reopen() throws {
    steps.append("reopen")
    engine.evictor.stop()
    engine.indexBuilder.stop()
    engine.mender.stop()
    try open(store.base)
  }

  private mutating func suspend() throws {
    steps.append("suspend")
    engine.mender.stop()
    try store.suspend()
    engine.mender.slice()
    try store.resume()
    try store.keep()
    try engine.forgetStore()
  }

  // MARK: Looking

  private func read<R>(_ body: (PackedView) throws(StoreError) -> R) throws -> R {
    try engine.repairer.retrying { (_) throws(StoreError) in
      let view = LeafSnapshot(engine.leaves)
      defer { view.close() }
      try view.open()
      return try body(PackedView(view))
    }
  }

  /// Everything is as the model has it.
  private func check() throws {
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

  private func hold(_ isSo: Bool, _ what: String) throws {
    if !isSo { throw Broken(description: "\(what): \(place)") }
  }

  private struct Broken: Error, CustomStringConvertible { let description: String }
}
