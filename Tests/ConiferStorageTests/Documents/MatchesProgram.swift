import ConiferDocument
import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// A client at random: documents come in and out of order, queries are tracked, matched and confirmed, writes wait, and
/// records are evicted and damaged.
struct MatchesProgram {
  private typealias Samples = DocumentSamples

  private struct Tracked {
    let lane: Lane
    let query: DocumentQuery
    let id: QueryID
  }

  private let seed: UInt64
  private var random: Seeded
  private var store = MemoryStore()
  private var backend: MemoryBackend
  private let tree: TreeID
  private var clock: Int64 = 100
  private var tracked: [Tracked] = []
  private var steps: [String] = []
  /// How many answers came from matches.
  private(set) var byMatches = 0

  init(_ seed: UInt64) async throws {
    self.seed = seed
    random = Seeded(seed)
    backend = try IndexTests.open(store)
    tree = try await backend.tree(named: "documents", order: .documents)
  }

  private var lanes: [Lane] { ["", "anna"].map { Lane(tree: tree, identity: $0) } }

  private static func time(_ seconds: Int64) -> Timestamp { Timestamp(unchecked: seconds, 0) }

  mutating func step() async throws {
    switch random.below(20) {
    case 0...5: try await put()
    case 6...8: try await confirm()
    case 9: try await track()
    case 10: try await write()
    case 11: try await forget()
    case 12:
      guard let query = tracked.randomElement(using: &random) else { return }
      let paths = stored().map(\.path).filter { query.query.target.source.holds($0) }
      let added = paths.filter { _ in random.chance(10) }
      let removed = paths.filter { _ in random.chance(5) }
      note("match \(query.id)")
      try await tolerant([
        .documents(tree, [.updateMatches(query.id, added: added, removed: removed)])
      ])
    case 13:
      guard random.chance(30), let query = tracked.randomElement(using: &random) else { return }
      note("remove \(query.id)")
      tracked.removeAll { $0.id == query.id }
      try await tolerant([.removeQuery(tree, query.id)])
    case 14:
      note("evict")
      for query in tracked { backend.setActive(random.chance(80), query.id, in: tree) }
      _ = try await backend.evict(to: random.below(20_000), dryRun: false)
    case 15: try await damage()
    case 16:
      note("reopen")
      store = try DamageTests.copy(store)
      backend = try IndexTests.open(store)
    case 17:
      note("index")
      let indexes = (0..<random.below(3)).map { _ in Samples.index(&random) }
      try await backend.commit([.documents(tree, [.setIndexes(indexes)])])
      try await IndexTests.waitUntilIdle(backend)
    case 18:
      note("purge")
      try await backend.commit([.purge(random.pick(lanes))])
    default:
      note("tidy")
      while try await backend.tidy(.seconds(1)) {}
      try requireSound()
    }
  }

  private mutating func note(_ step: String) { steps.append(step) }

  /// Queries may be gone by eviction and damage.
  private func tolerant(_ edits: [StorageEdit]) async throws {
    do { try await backend.commit(edits) } catch {
      guard error.code == .invalid else { throw error }
    }
  }

  private func stored() -> [Document] {
    let paths = Samples.collections.flatMap { collection in
      Samples.ids.compactMap { try? collection.document($0) }
    }
    return
      (try? backend.readDocuments { (view) throws(StoreError) in
        var found: [Document] = []
        for path in paths {
          let document = try view.document(tree, path)
          if document.state != .unseen { found.append(document) }
        }
        return found
      }) ?? []
  }

  private mutating func documents() -> [Document] {
    (0..<1 + random.below(6)).map { _ in
      let path = random.pick(Samples.collections + [Samples.collections[0]])
      let id = random.pick(Samples.ids)
      let document = Samples.document(Samples.path("\(path)/\(id)"), &random)
      // Most were read now, some are late or ahead.
      let read =
        random.chance(85)
        ? clock : max(0, clock + Int64(random.below(12)) - Int64(random.below(20)))
      let state = document.state == .unseen ? .missing : document.state
      return Document(document.path, state, readTime: Self.time(read))
    }
  }

  private mutating func put() async throws {
    clock += Int64(random.below(3))
    let documents = documents()
    note("put \(documents.map { "\($0.path) at \($0.readTime.seconds)" })")
    try await backend.commit([.documents(tree, documents.map { .put($0) })])
  }

  private mutating func forget() async throws {
    guard let document = stored().randomElement(using: &random) else { return }
    note("forget \(document.path)")
    try await backend.commit([.documents(tree, [.forget(document.path)])])
  }

  private mutating func track() async throws {
    let query = Samples.query(&random, over: stored() + [Document(Samples.path("c/d1"), .missing)])
    guard (try? query.validate()) != nil else { return }
    if case .document = query.source { return }
    let lane = random.pick(lanes)
    let id = try await backend.commit([.saveQuery(TrackedQuery(lane, query.target))]).queries[0]
    note("track \(id): \(query.canonical)")
    tracked.removeAll { $0.id == id }
    tracked.append(Tracked(lane: lane, query: query, id: id))
    if tracked.count > 6 { tracked.removeFirst() }
    try await confirm(tracked[tracked.count - 1])
  }

  private mutating func confirm() async throws {
    guard let query = tracked.randomElement(using: &random) else { return try await track() }
    try await confirm(query)
  }

  /// Says what a query matches and as of when, with documents that come in the same commit.
  private mutating func confirm(_ query: Tracked) async throws {
    clock += Int64(random.below(3))
    let new = random.chance(40) ? documents() : []
    let time = random.chance(80) ? clock : clock + Int64(random.below(10)) - Int64(random.below(10))
    var all = Dictionary(uniqueKeysWithValues: stored().map { ($0.path, $0) })
    for document in new { all[document.path] = document }
    let read = all.values.filter { $0.readTime <= Self.time(time) }
    var matches = query.query.evaluate(Array(read)).map(\.path)
    if random.chance(20) {
      // More than match.
      matches += all.keys.filter { query.query.source.holds($0) && random.chance(10) }.sorted()
    }
    note("confirm \(query.id) at \(time) with \(new.map { "\($0.path)" })")
    let version = MatchesVersion(query.query.source, at: Self.time(time))
    try await tolerant([
      .documents(
        tree,
        new.map { .put($0) } + [
          .setMatches(query.id, matches), .setMatchesVersion(query.id, version),
        ]
      )
    ])
  }

  private mutating func write() async throws {
    let document = documents()[0]
    guard let fields = document.fields else { return }
    let write = Mutation(document.path, .set(fields, []), if: .none)
    let batch = MutationBatch(written: .zero, bases: [], mutations: [write])
    note("write \(document.path)")
    try await backend.commit([.enqueue(random.pick(lanes), batch.payload)])
  }

  /// Damages a record, or the counts of the tree.
  private mutating func damage() async throws {
    guard random.chance(40) else { return }
    let spaces = [
      Spaces.changes, Spaces.changes, Spaces.queries, Spaces.queryKeys, Spaces.runs, Spaces.usage,
      Spaces.collections, Spaces.overlays,
    ]
    let space = random.pick(spaces)
    let copy = try DamageTests.copy(store)
    let keys = try copy.view().keys(space, prefix: StoreKey.prefix(tree))
    guard let key = keys.randomElement(using: &random) else { return }
    note("damage \(space.id) \(Damage.hex(key))")
    try copy.damage(space, key)
    store = copy
    backend = try IndexTests.open(store)
  }

  /// Compares what each query gives by its matches and without.
  mutating func check() throws {
    for query in tracked {
      // By its matches first: nothing is repaired then.
      let (known, plain) = try backend.readDocuments { (view) throws(StoreError) in
        (
          try view.query(query.lane, query.query, tracked: query.id),
          try view.query(query.lane, query.query)
        )
      }
      if known.explanation.plan == .matches { byMatches += 1 }
      guard known.documents == plain.documents else {
        Issue.record(
          """
          seed \(seed): query \(query.id) gives \(known.documents.map(\.path)) by \
          \(known.explanation.plan), and \(plain.documents.map(\.path)) without its matches, \
          after \(steps.joined(separator: "; "))
          """)
        throw Failed()
      }
    }
  }

  private func requireSound() throws {
    let report = try backend.verify()
    // A damaged record that nobody has read yet.
    if report.findings.contains(where: { $0.kind == .checksum }) { return }
    guard try report.isSound && backend.usageDrift().isEmpty else {
      Issue.record(
        "seed \(seed): \(report.findings) after \(steps.joined(separator: "; "))")
      throw Failed()
    }
  }

  /// Compares what a copy gives, too.
  mutating func end() async throws {
    while try await backend.tidy(.seconds(1)) {}
    try requireSound()
    let copy = try IndexTests.open(MemoryStore())
    try await StoreCopier(source: backend, target: copy, reached: { _ in }).run(
      from: CopyPosition())
    backend = copy
    try check()
    try requireSound()
    #expect(byMatches > 3, "seed \(seed): \(byMatches) answers came from matches")
  }

  private struct Failed: Error {}
}

extension DocumentQuery.Source {
  /// Whether a document is in the source.
  fileprivate func holds(_ path: DocumentPath) -> Bool {
    switch self {
    case .collection(let collection): collection.contains(path)
    case .group(let id): path.collection.id == id
    case .document(let document): path == document
    }
  }
}
