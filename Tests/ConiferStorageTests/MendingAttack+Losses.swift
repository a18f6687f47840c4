import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What is lost, damaged and evicted, and how the store's life ends and begins.
extension MendingAttack {
  func damageable(_ tree: TreeID) throws -> [(space: Space, key: Bytes)] {
    let spaces = [
      Spaces.runs, Spaces.runs, Spaces.deltas, Spaces.chunks, Spaces.queries, Spaces.queryIndex,
      Spaces.queryKeys, Spaces.queue, Spaces.queueParts, Spaces.finished, Spaces.incidents,
    ]
    return try spaces.flatMap { space in
      try store.base.view().keys(space, prefix: StoreKey.prefix(tree)).map { (space, $0) }
    }
  }

  mutating func loseUsage(_ tree: Int) throws {
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
  mutating func lose(_ tree: Int) throws {
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

  mutating func evict() throws {
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
  mutating func adopt() throws {
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
  mutating func fill(_ tree: Int) throws {
    steps.append("full disk")
    store.mostEdits.withLock { $0 = random.below(4) }
    for _ in 0...random.below(4) { engine.mender.slice() }
    store.mostEdits.withLock { $0 = .max }
    try commit(tree)
  }

  // MARK: Life

  mutating func open(_ base: MemoryStore) throws {
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

  mutating func reopen() throws {
    steps.append("reopen")
    engine.evictor.stop()
    engine.indexBuilder.stop()
    engine.mender.stop()
    try open(store.base)
  }

  mutating func suspend() throws {
    steps.append("suspend")
    engine.mender.stop()
    try store.suspend()
    engine.mender.slice()
    try store.resume()
    try store.keep()
    try engine.forgetStore()
  }
}
