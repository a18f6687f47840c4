import ConiferTree

extension Trial {
  /// W9: one leaf changes in a node that is big, and in one that is wide.
  func runUpdates(_ outcome: inout Outcome) async throws {
    let text = String(repeating: "lorem ipsum dolor sit amet ", count: 38).prefix(1000)
    let big = Node(
      children: (0..<plan.bigChildren).map { number in
        (
          Key("item-\(number)"),
          ["text": Node(.string("\(number) \(text)")), "n": Node(.integer(0))]
        )
      })
    let wide = Node(
      children: (0..<plan.wideChildren).map { (Key("child-\($0)"), Node(.integer(Int64($0)))) })
    try await withEngine { engine in
      try await engine.storing("nodes/big", big).run()
      try await engine.storing("nodes/wide", wide).run()
      let (bigCount, wideCount) = (plan.bigChildren, plan.wideChildren)
      try await update(
        engine, "update.big", "one leaf of \(bigCount) children with \(bigCount) KB", &outcome
      ) { "nodes/big/item-\($0.below(bigCount))/n" }
      try await update(
        engine, "update.wide", "one of \(wideCount) children", &outcome
      ) { "nodes/wide/child-\($0.below(wideCount))" }
      outcome.digests.append(try engine.digest())
    }
  }

  private func update(
    _ engine: any Engine, _ id: String, _ title: String, _ outcome: inout Outcome,
    _ path: (inout Random) -> String
  ) async throws {
    var random = Random(seed: plan.seed &+ 9)
    var watch = Stopwatch()
    for number in 0..<plan.updates {
      // The first tenth warms up.
      if number == plan.updates / 10 { watch = Stopwatch() }
      let operation = engine.updating([(path(&random), Int64(1_000_000 + number))])
      try await watch.time { try await operation.run() }
    }
    outcome.add(watch.rate(id, .W9, title, watch.calls, "commits"))
  }

  /// W10: a wide node is emptied, a hundred children at a time; reads before and after.
  func runDeletions(_ outcome: inout Outcome) async throws {
    let rooms = Rooms(count: min(plan.rooms, 25), seed: plan.seed)
    let count = plan.wideChildren
    let wide = Node(
      children: (0..<count).map { (Key("child-\($0)"), Node(.integer(Int64($0)))) })
    try await withEngine { engine in
      for room in 0..<rooms.count {
        try await engine.loading(Rooms.path(room), rooms.node(room), use: 1).run()
      }
      // It sorts between the rooms, so that walks meet what it leaves.
      try await engine.storing("rooms/r1x", wide).run()
      try readAround(engine, rooms, "before", &outcome)
      var watch = Stopwatch()
      for start in stride(from: 0, to: count, by: 100) {
        let operation = engine.updating(
          (start..<min(start + 100, count)).map { ("rooms/r1x/child-\($0)", nil) })
        try await watch.time { try await operation.run() }
      }
      outcome.add(watch.rate("delete", .W10, "deleted a hundred a commit", count, "children"))
      try readAround(engine, rooms, "after \(count) deletions", &outcome)
      try require(try engine.leaves("rooms/r1x") == 0, "deleted children are there")
      outcome.digests.append(try engine.digest())
    }
  }

  private func readAround(
    _ engine: any Engine, _ rooms: Rooms, _ when: String, _ outcome: inout Outcome
  ) throws {
    let id = when == "before" ? "before" : "after"
    var watch = Stopwatch()
    for number in 0..<max(10, plan.reads / 20) {
      let leaves = try watch.timeNow { try engine.leaves(Rooms.path(number % rooms.count)) }
      try require(leaves == Rooms.leaves, "a room has \(leaves) leaves")
    }
    outcome.add(watch.rate("deleted.room.\(id)", .W10, "rooms read, \(when)", watch.calls, "rooms"))
    guard id == "after" else { return }
    watch = Stopwatch()
    for _ in 0..<20 { _ = try watch.timeNow { try engine.leaves("rooms/r1x") } }
    outcome.add(watch.time("deleted.empty", .W10, "reading what was deleted"))
  }
}
