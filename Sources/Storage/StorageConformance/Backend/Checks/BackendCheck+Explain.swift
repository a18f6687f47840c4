internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Why data is kept, and when it would go.
  static let explanations: [BackendCheck] = [
    BackendCheck(.eviction, "an explanation adds up and tells every reason", .usageDrift) { bench in
      let twin = try await bench.twin()
      let tree = twin.tree
      let ids = try await twin.makeRooms(8)
      try await twin.set("stray", twin.noise(60))
      let saved = try await twin.commit(
        .pin(Pin(tree: tree, path: "rooms/r1")), .pin(Pin(tree: tree, path: "rooms/r6/m3")),
        .pin(Pin(tree: tree, path: "rooms/r1", parameters: "{\"l\":1}")),
        .saveQuery(
          TrackedQuery(tree: tree, path: "rooms/r2", parameters: "{\"l\":2}", lastUse: 20)),
        .saveQuery(
          TrackedQuery(tree: tree, path: "rooms/r3", parameters: "{\"l\":2}", lastUse: 21)),
        .enqueue(twin.lane, .set("rooms/r2/m3", 1)), .enqueue(twin.lane, .set("rooms", 1)),
        .enqueue(Lane(tree: tree, identity: "ada"), .set("rooms/r2", 1)))
      try await twin.commit(.setTrackedKeys(tree, saved.queries[0], ["m1", "m2"]))
      let paths: [Path] = [
        .root, "rooms", "stray", "stray/m3", "rooms/r0", "rooms/r1", "rooms/r1/m1", "rooms/r2",
        "rooms/r2/m1", "rooms/r2/m9", "rooms/r3/m9", "rooms/r6", "rooms/r6/m3", "rooms/r7",
        "rooms/r7/m1/deeper", "nowhere",
      ]
      for path in paths { try twin.explain(tree, path) }
      twin.setActive(true, ids[0], in: tree)
      twin.setActive(true, ids[1], in: tree)
      twin.setActive(true, saved.queries[0], in: tree)
      for path in paths { try twin.explain(tree, path) }
      try twin.explain(twin.other, .root)
    },
    BackendCheck(.eviction, "the children of a path take what it takes", .usageDrift) { bench in
      let twin = try await bench.twin()
      try await twin.makeRooms(6)
      try await twin.set("big", .text(300_000))
      try await twin.set("many", Node(children: (0..<400).map { (Key($0), .text($0 % 7)) }))
      for path: Path in [.root, "rooms", "rooms/r3", "many"] {
        let whole = try twin.explain(twin.tree, path)
        var sum = SpaceExplanation(tree: twin.tree, path: path)
        for child in try twin.read(path).children {
          let part = try twin.explain(twin.tree, path.appending(child.key))
          sum.bytes += part.bytes
          sum.leaves += part.leaves
        }
        try requireEqual(sum.leaves, whole.leaves, "the leaves of the children of \(path)")
        try require(
          abs(sum.bytes - whole.bytes) <= 2 * whole.leaves + 16 + whole.bytes / 50,
          "the children of \(path) take \(sum.bytes) bytes, and it takes \(whole.bytes)")
      }
      let (cache, usage) = (
        try twin.backend.evicting().explain(twin.tree, .root).bytes, try twin.usage(twin.tree).cache
      )
      try require(cache >= usage - 16, "the tree takes \(cache), and its records take \(usage)")
    },
    BackendCheck(.eviction, "data goes when its explanation said it would", .usageDrift) { bench in
      let twin = try await bench.twin()
      let tree = twin.tree
      try await twin.makeRooms(7)
      try await twin.commit(
        .saveQuery(
          TrackedQuery(tree: tree, path: "rooms/r1", parameters: "{\"l\":1}", lastUse: 50)),
        .pin(Pin(tree: tree, path: "rooms/r4")))
      var fates: [Int: Int] = [:]
      for room in 0..<7 {
        let fate = try twin.explain(tree, Path("rooms/r\(room)")).fate
        if case .afterQueries(let before) = fate { fates[room] = before }
      }
      try requireEqual(fates.count, 6, "the number of rooms that may go")
      var gone = 0
      while gone < 7 {
        let report = try await twin.evict(to: twin.backend.evicting().space().cache - 1)
        // One frees little more than its record, so that a store of pages may let a second one go.
        try require(
          (1...2).contains(report.queries.count),
          "\(report.queries.count) queries went for a byte")
        gone += report.queries.count
        for (room, before) in fates {
          let isEmpty = try twin.read(Path("rooms/r\(room)")).isEmpty
          try require(
            isEmpty == (before < gone),
            "room \(room) was to go after \(before) queries, and after \(gone) it "
              + (isEmpty ? "is gone" : "is there"))
        }
      }
    },
  ]
}
