internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Why data is kept, and when it would be evicted.
  static let explanations: [BackendCheck] = [
    BackendCheck(.eviction, "an explanation adds up and names every reason", .usageDrift) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let ids = try await pair.makeRooms(8)
      try await pair.set("stray", pair.noise(60))
      let saved = try await pair.commit(
        .pin(Pin(tree: tree, path: "rooms/r1")), .pin(Pin(tree: tree, path: "rooms/r6/m3")),
        .pin(Pin(tree: tree, path: "rooms/r1", parameters: "{\"l\":1}")),
        .saveQuery(
          TrackedQuery(tree: tree, path: "rooms/r2", parameters: "{\"l\":2}", lastUse: 20)),
        .saveQuery(
          TrackedQuery(tree: tree, path: "rooms/r3", parameters: "{\"l\":2}", lastUse: 21)),
        .enqueue(pair.lane, .set("rooms/r2/m3", 1)), .enqueue(pair.lane, .set("rooms", 1)),
        .enqueue(Lane(tree: tree, identity: "ada"), .set("rooms/r2", 1)))
      try await pair.commit(.setTrackedKeys(tree, saved.queries[0], ["m1", "m2"]))
      let paths: [Path] = [
        .root, "rooms", "stray", "stray/m3", "rooms/r0", "rooms/r1", "rooms/r1/m1", "rooms/r2",
        "rooms/r2/m1", "rooms/r2/m9", "rooms/r3/m9", "rooms/r6", "rooms/r6/m3", "rooms/r7",
        "rooms/r7/m1/deeper", "nowhere",
      ]
      for path in paths { try pair.explain(tree, path) }
      pair.setActive(true, ids[0], in: tree)
      pair.setActive(true, ids[1], in: tree)
      pair.setActive(true, saved.queries[0], in: tree)
      for path in paths { try pair.explain(tree, path) }
      try pair.explain(pair.other, .root)
    },
    BackendCheck(.eviction, "the sizes of a path's children add up to its own", .usageDrift) {
      fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(6)
      try await pair.set("big", .text(300_000))
      try await pair.set("many", Node(children: (0..<400).map { (Key($0), .text($0 % 7)) }))
      for path: Path in [.root, "rooms", "rooms/r3", "many"] {
        let whole = try pair.explain(pair.tree, path)
        var sum = SpaceExplanation(tree: pair.tree, path: path)
        for child in try pair.read(path).children {
          let part = try pair.explain(pair.tree, path.appending(child.key))
          sum.bytes += part.bytes
          sum.leaves += part.leaves
        }
        try requireEqual(sum.leaves, whole.leaves, "the leaves of the children of \(path)")
        try require(
          abs(sum.bytes - whole.bytes) <= 2 * whole.leaves + 16 + whole.bytes / 50,
          "the children of \(path) take \(sum.bytes) bytes, and it takes \(whole.bytes)")
      }
      let (cache, usage) = (
        try pair.backend.evicting().explain(pair.tree, .root).bytes,
        try pair.usage(pair.tree).leafBytes
      )
      try require(cache >= usage - 16, "the tree takes \(cache), and its records take \(usage)")
    },
    BackendCheck(.eviction, "data is evicted when its explanation said it would be", .usageDrift) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      try await pair.makeRooms(7)
      try await pair.commit(
        .saveQuery(
          TrackedQuery(tree: tree, path: "rooms/r1", parameters: "{\"l\":1}", lastUse: 50)),
        .pin(Pin(tree: tree, path: "rooms/r4")))
      var fates: [Int: Int] = [:]
      for room in 0..<7 {
        let fate = try pair.explain(tree, Path("rooms/r\(room)")).fate
        if case .afterQueries(let before) = fate { fates[room] = before }
      }
      try requireEqual(fates.count, 6, "the number of rooms that may go")
      var gone = 0
      while gone < 7 {
        let report = try await pair.evict(to: pair.backend.evicting().space().cache - 1)
        // Evicting one query frees little more than its record, so a store of pages may evict a
        // second one.
        try require(
          (1...2).contains(report.queries.count),
          "\(report.queries.count) queries went for a byte")
        gone += report.queries.count
        for (room, before) in fates {
          let isEmpty = try pair.read(Path("rooms/r\(room)")).isEmpty
          try require(
            isEmpty == (before < gone),
            "room \(room) was to go after \(before) queries, and after \(gone) it "
              + (isEmpty ? "is gone" : "is there"))
        }
      }
    },
    BackendCheck(
      .eviction, "documents with waiting writes are explained by these, and stay", .usageDrift
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let lane = Lane(tree: tree, identity: "anna")
      func path(_ id: String) throws -> DocumentPath { try DocumentPath("c/\(id)") }
      let stored = ["pinned", "written", "tracked", "both", "free"]
      var random = SeededRandom(seed: 4)
      for id in stored {
        let text = (0..<2000).map { _ in "\(random.pick(Array("abcdefgh")))" }.joined()
        let document = Document(
          try path(id), .found(["t": .string(text)]), version: random.time(),
          readTime: random.time())
        try await pair.commit(.documents(tree, [.put(document)]))
      }
      let query = DocumentQuery(.collection(try path("both").collection), in: SeededRandom.database)
      let id = try await pair.commit(.saveQuery(TrackedQuery(lane, query.target))).queries[0]
      let pin = Pin(tree: tree, path: DocumentKey.treePath(try path("pinned")))
      try await pair.commit(
        .documents(tree, [.setMatches(id, [try path("tracked"), try path("both")])]), .pin(pin))
      let writes = try await pair.commit(
        .enqueue(lane, try Self.increment(path("written"))),
        .enqueue(lane, try Self.increment(path("both"))),
        .enqueue(lane, try Self.increment(path("new")))
      ).writes
      let backend = try pair.backend.evicting()
      func explain(_ id: String) throws -> SpaceExplanation {
        try backend.explain(tree, DocumentKey.treePath(try path(id)))
      }
      typealias Part = KeyPath<SpaceExplanation, Int>
      let expected: [(id: String, kinds: [String], fate: SpaceExplanation.Fate, part: Part?)] = [
        ("pinned", ["pinned"], .stays, \.pinned), ("written", ["written"], .stays, \.written),
        ("tracked", ["tracked"], .afterQueries(0), \.tracked),
        ("both", ["written", "tracked"], .stays, \.written), ("free", [], .first, \.uncovered),
        ("new", ["written"], .stays, nil),
      ]
      for (id, kinds, fate, part) in expected {
        let found = try explain(id)
        try requireEqual(found.reasons.map(\.kind), kinds, "the reasons for \(id)")
        try requireEqual(found.fate, fate, "the fate of \(id)")
        try requireEqual(found.leaves, part == nil ? 0 : 1, "the leaves of \(id)")
        try require(part == nil || found.bytes > 0, "\(id) takes no byte")
        let parts: [Part] = [\.pinned, \.written, \.active, \.tracked, \.uncovered]
        for other in parts {
          let bytes = other == part ? found.bytes : 0
          try requireEqual(found[keyPath: other], bytes, "a part of the bytes of \(id)")
        }
        try requireEqual(found.pendingWrites, kinds.contains("written") ? 1 : 0, "writes of \(id)")
      }
      let whole = try backend.explain(tree, "c")
      try requireEqual(whole.fate, .parts, "the fate of the collection")
      try require(
        whole.written > whole.pinned && whole.written > whole.tracked && whole.tracked > 0,
        "the parts of the collection are \(whole)")
      try require(try backend.space().pinned > 0, "nothing is pinned")
      try await pair.commit(.unpin(pin))
      try requireEqual(try backend.space().pinned, 0, "the pinned bytes without a pin")
      try await pair.commit(.pin(pin))
      // What was said is what happens.
      try await pair.evict(to: 0)
      func left() throws -> [String] { try stored.filter { try explain($0).leaves > 0 } }
      try requireEqual(try left(), ["pinned", "written", "both"], "what is left")
      try await pair.commit(writes.map { .finish(lane, $0, .acknowledged) })
      try requireEqual(try explain("written").fate, .first, "the fate of what was written")
      try await pair.evict(to: 0)
      try requireEqual(try left(), ["pinned"], "what is left without writes")
      try pair.isSound()
    },
  ]

  private static func increment(_ path: DocumentPath) throws -> WritePayload {
    let write = try ConiferDocument.Mutation.merge(
      path, [("n", .increment(1))], in: SeededRandom.database)
    return MutationBatch([write], written: .zero) { Document($0, .unseen) }.payload
  }
}

extension SpaceExplanation.Reason {
  fileprivate var kind: String {
    switch self {
    case .pinned: "pinned"
    case .written: "written"
    case .active: "active"
    case .tracked: "tracked"
    }
  }
}
