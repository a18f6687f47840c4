internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Keeping a budget.
  static let evictions =
    evictionOrder + evictionSelection + evictionCoverage + evictionPins + evictionReports
    + explanations + budgets + evictionPrograms

  /// What a backend answers that does not evict.
  static let withoutEviction: [BackendCheck] = [
    BackendCheck(.eviction, "a backend that does not evict says so", .wrongError) { bench in
      let twin = try await bench.twin()
      try await twin.set("a", 1)
      try await expect(.unsupported, "an eviction") { () throws(StoreError) in
        try await twin.backend.evicting().evict(to: 0, dryRun: false)
      }
      try await expect(.unsupported, "a dry run") { () throws(StoreError) in
        try await twin.backend.evicting().evict(to: 0, dryRun: true)
      }
      try await expect(.unsupported, "an explanation") { () throws(StoreError) in
        try twin.backend.evicting().explain(twin.tree, .root)
      }
      try await expect(.unsupported, "space") { () throws(StoreError) in
        try twin.backend.evicting().space()
      }
      twin.backend.setActive(true, QueryID(rawValue: 1), in: twin.tree)
      try twin.same("after the refusals")
    }
  ]

  /// The order in which queries go.
  static let evictionOrder: [BackendCheck] = [
    BackendCheck(.eviction, "the least recently used queries go first, with their data") { bench in
      let twin = try await bench.twin()
      try await twin.makeRooms(12)
      let report = try await twin.evict(to: twin.backend.evicting().space().cache / 2)
      try require(report.isMet, "\(report.after) bytes are left of \(report.before)")
      try requireEqual(
        report.queries.map(\.path), (0..<report.queries.count).map { Path("rooms/r\($0)") },
        "the list of queries that went")
      try require(
        (4...8).contains(report.queries.count), "\(report.queries.count) of 12 went for a half")
      try require(
        report.queries.allSatisfy { $0.bytes > 4000 }, "queries freed \(report.queries)")
      try await twin.reopen()
      try twin.same("after reopening")
    },
    BackendCheck(.eviction, "a use makes a query the last to go") { bench in
      let twin = try await bench.twin()
      let ids = try await twin.makeRooms(6)
      twin.setActive(true, ids[0], in: twin.tree)
      twin.setActive(true, ids[3], in: twin.tree)
      twin.setActive(false, ids[3], in: twin.tree)
      twin.setActive(false, ids[0], in: twin.tree)
      twin.setActive(false, ids[1], in: twin.tree)
      try requireEqual(try await twin.evictEach(), [2, 4, 5, 3, 0, 1], "the order of the rooms")
    },
    BackendCheck(.eviction, "an orderly close keeps every use") { bench in
      let twin = try await bench.twin()
      let ids = try await twin.makeRooms(50, leaves: 2)
      var random = SeededRandom(seed: 61)
      let order = Array(ids.indices).shuffled(using: &random)
      for room in order {
        twin.setActive(true, ids[room], in: twin.tree)
        if random.chance(50) { twin.setActive(false, ids[room], in: twin.tree) }
      }
      for room in order { twin.setActive(false, ids[room], in: twin.tree) }
      try await twin.reopen()
      let report = try await twin.evict(to: 0)
      try requireEqual(
        report.queries.map(\.path), order.map { Path("rooms/r\($0)") }, "the order of the rooms")
    },
    BackendCheck(.eviction, "a use is later than every use that was stored before") { bench in
      let twin = try await bench.twin()
      let ids = try await twin.makeRooms(4)
      try await twin.commit(
        .saveQuery(TrackedQuery(tree: twin.tree, path: "rooms/r1", lastUse: 100_000)))
      twin.setActive(true, ids[2], in: twin.tree)
      try await twin.reopen()
      twin.setActive(true, ids[0], in: twin.tree)
      twin.setActive(false, ids[0], in: twin.tree)
      twin.setActive(false, ids[2], in: twin.tree)
      try requireEqual(try await twin.evictEach(), [3, 1, 0, 2], "the order of the rooms")
    },
    BackendCheck(.eviction, "the queries of all trees stand in one order") { bench in
      let twin = try await bench.twin()
      for room in 0..<8 {
        let tree = twin.trees[room % 2]
        try await twin.makeRoom(room, in: tree, lastUse: UInt64(room + 1))
      }
      try requireEqual(try await twin.evictEach(), Array(0..<8), "the order of the rooms")
    },
    BackendCheck(.eviction, "queries of one use go in the same order each time") { bench in
      let twin = try await bench.twin()
      for room in 0..<12 {
        try await twin.makeRoom(room, in: twin.trees[room % 2], lastUse: 7)
      }
      let dry = try await twin.backend.evicting().evict(to: 0, dryRun: true)
      try await twin.reopen()
      let report = try await twin.evict(to: 0)
      try requireEqual(report.queries.map(\.name), dry.queries.map(\.name), "the order")
      try requireEqual(report.queries.count, 12, "the number of queries that went")
    },
  ]

  /// Which queries go where several overlap; the cases of the Realtime Database's SDKs.
  static let evictionSelection: [BackendCheck] = [
    BackendCheck(.eviction, "under an inactive query, active ones keep their parts", .evictedPin) {
      bench in
      let twin = try await bench.twin()
      let ids = try await twin.overlap(["foo", "foo/a", "foo/b"])
      twin.setActive(true, ids[1], in: twin.tree)
      twin.setActive(true, ids[2], in: twin.tree)
      let data = try twin.read("foo")
      let report = try await twin.evict(to: 0)
      try requireEqual(report.queries.map(\.path), ["foo"], "the list of queries that went")
      try twin.shows("foo", is: Node(children: ["a", "b"].map { ($0, data[$0]) }))
    },
    BackendCheck(.eviction, "under an active query nothing is freed") { bench in
      let twin = try await bench.twin()
      let ids = try await twin.overlap(["foo", "foo/a", "foo/b"])
      twin.setActive(true, ids[0], in: twin.tree)
      let data = try twin.read("foo")
      let report = try await twin.evict(to: 0)
      try require(!report.isMet, "a cache of active data was emptied")
      try twin.shows("foo", is: data)
    },
    BackendCheck(.eviction, "under a query that stays for now nothing is freed") { bench in
      let twin = try await bench.twin()
      _ = try await twin.overlap(["foo/a", "foo/b", "foo"])
      let data = try twin.read("foo")
      let cache = try twin.backend.evicting().space().cache
      let report = try await twin.evict(to: cache - cache / 20)
      try requireEqual(report.queries.map(\.path), ["foo/a", "foo/b", "foo"], "what went")
      try require(
        report.queries.prefix(2).allSatisfy { $0.bytes <= twin.slack(0) },
        "queries under another freed \(report.queries)")
      try twin.shows("foo", is: .empty)
      try require(!data.isEmpty, "there was no data")
    },
    BackendCheck(.eviction, "a query goes alone when that is enough, and more when it is not") {
      bench in
      let twin = try await bench.twin()
      try await twin.makeRooms(10)
      var left = 10
      while left > 0 {
        let cache = try twin.backend.evicting().space().cache
        let report = try await twin.evict(to: cache - 1)
        try requireEqual(report.queries.count, 1, "the number of queries that went for a byte")
        left -= 1
      }
      let report = try await twin.evict(to: .max)
      try requireEqual(report.queries.count, 0, "the number of queries that went for nothing")
    },
    BackendCheck(.eviction, "what is small enough is left as it is") { bench in
      let twin = try await bench.twin()
      try await twin.makeRooms(3)
      try await twin.set("stray", twin.noise(20))
      try await twin.commit(
        (0..<950).map {
          .saveQuery(TrackedQuery(tree: twin.tree, path: Path("q\($0)"), lastUse: UInt64($0)))
        })
      // Comparing so many queries with the model would take long.
      let report = try await twin.evict(to: .max, settles: false)
      try requireEqual(report.queries.count, 0, "the number of queries that went")
      try requireEqual(report.uncovered, 0, "the bytes of uncovered data that went")
      try twin.shows("stray", is: twin.noise(20))
    },
  ]
}
