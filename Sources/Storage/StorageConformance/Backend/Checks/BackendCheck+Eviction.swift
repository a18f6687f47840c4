internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Keeping a budget.
  static let evictions =
    evictionOrder + evictionSelection + evictionCoverage + evictionPins + evictionReports
    + explanations + budgets + evictionPrograms

  /// The answers of a backend that does not evict.
  static let withoutEviction: [BackendCheck] = [
    BackendCheck(.eviction, "a backend that does not evict says so", .wrongError) { fixture in
      let pair = try await fixture.pair()
      try await pair.set("a", 1)
      try await expect(.unsupported, "an eviction") { () throws(StoreError) in
        try await pair.backend.evicting().evict(to: 0, dryRun: false)
      }
      try await expect(.unsupported, "a dry run") { () throws(StoreError) in
        try await pair.backend.evicting().evict(to: 0, dryRun: true)
      }
      try await expect(.unsupported, "an explanation") { () throws(StoreError) in
        try pair.backend.evicting().explain(pair.tree, .root)
      }
      try await expect(.unsupported, "space") { () throws(StoreError) in
        try pair.backend.evicting().space()
      }
      pair.backend.setActive(true, QueryID(rawValue: 1), in: pair.tree)
      try pair.requireSame("after the refusals")
    }
  ]

  /// The order in which queries are evicted.
  static let evictionOrder: [BackendCheck] = [
    BackendCheck(.eviction, "the least recently used queries go first, with their data") {
      fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(12)
      let report = try await pair.evict(to: pair.backend.evicting().space().cache / 2)
      try require(report.isMet, "\(report.after) bytes are left of \(report.before)")
      try requireEqual(
        report.queries.map(\.path), (0..<report.queries.count).map { Path("rooms/r\($0)") },
        "the list of queries that went")
      try require(
        (4...8).contains(report.queries.count), "\(report.queries.count) of 12 went for a half")
      try require(
        report.queries.allSatisfy { $0.bytes > 4000 }, "queries freed \(report.queries)")
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
    BackendCheck(.eviction, "a query that was just used is evicted last") { fixture in
      let pair = try await fixture.pair()
      let ids = try await pair.makeRooms(6)
      pair.setActive(true, ids[0], in: pair.tree)
      pair.setActive(true, ids[3], in: pair.tree)
      pair.setActive(false, ids[3], in: pair.tree)
      pair.setActive(false, ids[0], in: pair.tree)
      pair.setActive(false, ids[1], in: pair.tree)
      try requireEqual(try await pair.evictEach(), [2, 4, 5, 3, 0, 1], "the order of the rooms")
    },
    BackendCheck(.eviction, "an orderly close keeps every use") { fixture in
      let pair = try await fixture.pair()
      let ids = try await pair.makeRooms(50, leaves: 2)
      var random = SeededRandom(seed: 61)
      let order = Array(ids.indices).shuffled(using: &random)
      for room in order {
        pair.setActive(true, ids[room], in: pair.tree)
        if random.chance(50) { pair.setActive(false, ids[room], in: pair.tree) }
      }
      for room in order { pair.setActive(false, ids[room], in: pair.tree) }
      try await pair.reopen()
      let report = try await pair.evict(to: 0)
      try requireEqual(
        report.queries.map(\.path), order.map { Path("rooms/r\($0)") }, "the order of the rooms")
    },
    BackendCheck(.eviction, "a use is later than every use that was stored before") { fixture in
      let pair = try await fixture.pair()
      let ids = try await pair.makeRooms(4)
      try await pair.commit(
        .saveQuery(TrackedQuery(tree: pair.tree, path: "rooms/r1", lastUse: 100_000)))
      pair.setActive(true, ids[2], in: pair.tree)
      try await pair.reopen()
      pair.setActive(true, ids[0], in: pair.tree)
      pair.setActive(false, ids[0], in: pair.tree)
      pair.setActive(false, ids[2], in: pair.tree)
      try requireEqual(try await pair.evictEach(), [3, 1, 0, 2], "the order of the rooms")
    },
    BackendCheck(.eviction, "the queries of all trees are in one order") { fixture in
      let pair = try await fixture.pair()
      for room in 0..<8 {
        let tree = pair.trees[room % 2]
        try await pair.makeRoom(room, in: tree, lastUse: UInt64(room + 1))
      }
      try requireEqual(try await pair.evictEach(), Array(0..<8), "the order of the rooms")
    },
    BackendCheck(.eviction, "queries with equal last uses are evicted in a fixed order") {
      fixture in
      let pair = try await fixture.pair()
      for room in 0..<12 {
        try await pair.makeRoom(room, in: pair.trees[room % 2], lastUse: 7)
      }
      let dry = try await pair.backend.evicting().evict(to: 0, dryRun: true)
      try await pair.reopen()
      let report = try await pair.evict(to: 0)
      try requireEqual(report.queries.map(\.name), dry.queries.map(\.name), "the order")
      try requireEqual(report.queries.count, 12, "the number of queries that went")
    },
  ]

  /// Which queries are evicted where several overlap; the cases are those of the Realtime
  /// Database's SDKs.
  static let evictionSelection: [BackendCheck] = [
    BackendCheck(.eviction, "under an inactive query, active ones keep their parts", .evictedPin) {
      fixture in
      let pair = try await fixture.pair()
      let ids = try await pair.overlap(["foo", "foo/a", "foo/b"])
      pair.setActive(true, ids[1], in: pair.tree)
      pair.setActive(true, ids[2], in: pair.tree)
      let data = try pair.read("foo")
      let report = try await pair.evict(to: 0)
      try requireEqual(report.queries.map(\.path), ["foo"], "the list of queries that went")
      try pair.requireNode("foo", is: Node(children: ["a", "b"].map { ($0, data[$0]) }))
    },
    BackendCheck(.eviction, "under an active query nothing is freed") { fixture in
      let pair = try await fixture.pair()
      let ids = try await pair.overlap(["foo", "foo/a", "foo/b"])
      pair.setActive(true, ids[0], in: pair.tree)
      let data = try pair.read("foo")
      let report = try await pair.evict(to: 0)
      try require(!report.isMet, "a cache of active data was emptied")
      try pair.requireNode("foo", is: data)
    },
    BackendCheck(.eviction, "under a query that stays for now nothing is freed") { fixture in
      let pair = try await fixture.pair()
      _ = try await pair.overlap(["foo/a", "foo/b", "foo"])
      let data = try pair.read("foo")
      let cache = try pair.backend.evicting().space().cache
      let report = try await pair.evict(to: cache - cache / 20)
      try requireEqual(report.queries.map(\.path), ["foo/a", "foo/b", "foo"], "what went")
      try require(
        report.queries.prefix(2).allSatisfy { $0.bytes <= pair.slack(0) },
        "queries under another freed \(report.queries)")
      try pair.requireNode("foo", is: .empty)
      try require(!data.isEmpty, "there was no data")
    },
    BackendCheck(.eviction, "one query is evicted when that is enough, and more when it is not") {
      fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(10)
      var left = 10
      while left > 0 {
        let cache = try pair.backend.evicting().space().cache
        let report = try await pair.evict(to: cache - 1)
        try requireEqual(report.queries.count, 1, "the number of queries that went for a byte")
        left -= 1
      }
      let report = try await pair.evict(to: .max)
      try requireEqual(report.queries.count, 0, "the number of queries that went for nothing")
    },
    BackendCheck(.eviction, "a cache below the target is left as it is") { fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(3)
      try await pair.set("stray", pair.noise(20))
      try await pair.commit(
        (0..<950).map {
          .saveQuery(TrackedQuery(tree: pair.tree, path: Path("q\($0)"), lastUse: UInt64($0)))
        })
      // Comparing so many queries with the model would take long.
      let report = try await pair.evict(to: .max, comparesState: false)
      try requireEqual(report.queries.count, 0, "the number of queries that went")
      try requireEqual(report.uncovered, 0, "the bytes of uncovered data that went")
      try pair.requireNode("stray", is: pair.noise(20))
    },
  ]
}
