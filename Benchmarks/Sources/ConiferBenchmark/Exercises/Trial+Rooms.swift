import ConiferTree

extension Trial {
  /// W1 to W4 on rooms.
  func runRooms(_ outcome: inout Outcome) async throws {
    let rooms = Rooms(count: plan.rooms, seed: plan.seed)
    try await withEngine { engine in
      try await load(engine, rooms, &outcome)
      if wants(.W1) { try await measureSizes(engine, rooms.count * Rooms.leaves, &outcome) }
      if !candidate.isPersistent { try await use(engine, rooms, &outcome) }
    }
    // Opened again, so that no engine has decoded what it is asked for.
    if candidate.isPersistent {
      try await withEngine { engine in try await use(engine, rooms, &outcome) }
    }
  }

  /// W2 to W4 on rooms that were loaded.
  private func use(
    _ engine: any Engine, _ rooms: Rooms, _ outcome: inout Outcome
  ) async throws {
    if wants(.W4) { try readLeaves(engine, rooms, &outcome) }
    if wants(.W3) { try readRooms(engine, rooms, &outcome) }
    if wants(.W2) { try await write(engine, rooms, &outcome) }
    outcome.digests.append(try engine.digest())
  }

  /// W1 with few leaves.
  func runFew(_ outcome: inout Outcome) async throws {
    try await withEngine { engine in
      try await load(engine, Rooms(count: plan.fewRooms, seed: plan.seed), suffix: ".few", &outcome)
      outcome.digests.append(try engine.digest())
    }
  }

  /// W1, and what memory it takes: W8.
  func load(
    _ engine: any Engine, _ rooms: Rooms, suffix: String = "", _ outcome: inout Outcome
  ) async throws {
    let leaves = rooms.count * Rooms.leaves
    // The benchmark's own memory, with everything that it needs to make rooms.
    for room in 0..<3 { _ = rooms.node(room).estimatedSize }
    let before = SystemFigures.anonymousMemory
    var most = before
    var watch = Stopwatch()
    for room in 0..<rooms.count {
      let operation = engine.loading(Rooms.path(room), rooms.node(room), use: UInt64(room + 1))
      try await watch.time { try await operation.run() }
      if room % 10 == 9 { most = max(most, SystemFigures.anonymousMemory) }
    }
    most = max(most, SystemFigures.anonymousMemory)
    outcome.add(watch.rate("load" + suffix, .W1, "load, \(leaves) leaves", leaves, "leaves"))
    outcome.add(
      "memory" + suffix, .W8, "anonymous memory while loading \(leaves) leaves",
      Double(most - before) / 1e6, "MB")
  }

  /// Bytes on disk, before and after space is given back.
  func measureSizes(
    _ engine: any Engine, _ leaves: Int, _ outcome: inout Outcome
  ) async throws {
    let count = Double(leaves)
    let files = Double(Files.allocatedBytes(storeDirectory))
    outcome.add("files", .W1, "files after the load", files / count, "B/leaf")
    let live = try engine.liveBytes().map { Double($0) } ?? files
    outcome.add("live", .W1, "live data after the load", live / count, "B/leaf")
    var watch = Stopwatch()
    try await watch.time { try await engine.reclaim() }
    outcome.add(watch.time("tidy", .W1, "tidying after the load"))
    outcome.add(
      "files.tidy", .W1, "files after tidying",
      Double(Files.allocatedBytes(storeDirectory)) / count, "B/leaf")
    let tidy = try engine.liveBytes().map { Double($0) }
    outcome.add(
      "live.tidy", .W1, "live data after tidying",
      (tidy ?? Double(Files.allocatedBytes(storeDirectory))) / count, "B/leaf")
  }

  /// W4: first leaves of rooms that nobody has read yet, then again and again those of a few.
  private func readLeaves(
    _ engine: any Engine, _ rooms: Rooms, _ outcome: inout Outcome
  ) throws {
    var random = Random(seed: plan.seed)
    var nodes: [Int: Node] = [:]
    var watch = Stopwatch()
    for room in (0..<rooms.count).shuffled(using: &random) {
      let node = rooms.node(room)
      if nodes.count < 50 { nodes[room] = node }
      try read(engine, Rooms.leafPath(room, node, &random), node, &watch)
    }
    outcome.add(watch.time("leaf.miss", .W4, "one leaf of a room that was not read before"))
    let few = nodes.keys.sorted()
    var warm = Stopwatch()
    for isWarm in [false, true] {
      var watch = Stopwatch()
      for _ in 0..<(isWarm ? plan.reads : plan.reads / 4) {
        let room = few[random.below(few.count)]
        guard let node = nodes[room] else { continue }
        try read(engine, Rooms.leafPath(room, node, &random), node, &watch)
      }
      warm = watch
    }
    outcome.add(
      warm.rate("leaf", .W4, "one leaf of \(few.count) rooms", plan.reads, "leaves"))
  }

  private func read(
    _ engine: any Engine, _ path: String, _ room: Node, _ watch: inout Stopwatch
  ) throws {
    let leaf = try watch.timeNow { try engine.leaf(path) }
    let expected = Path(path).dropFirst().dropFirst().keys.reduce(room) { $0[$1] }.leaf
    try require(leaf != nil && leaf == expected, "\(path) is \(String(describing: leaf))")
  }

  /// W3: into a node, then the same with each leaf looked at, as what shows or hashes a room does.
  private func readRooms(
    _ engine: any Engine, _ rooms: Rooms, _ outcome: inout Outcome
  ) throws {
    var random = Random(seed: plan.seed &+ 3)
    for looks in [false, true] {
      var measured = Stopwatch()
      for isWarm in [false, true] {
        var watch = Stopwatch()
        for _ in 0..<max(1, isWarm ? plan.reads / 10 : plan.reads / 40) {
          let path = Rooms.path(random.below(rooms.count))
          let found = try watch.timeNow {
            try looks ? engine.node(path).looked : engine.leaves(path)
          }
          try require(
            looks ? found > Rooms.leaves : found == Rooms.leaves, "\(path) comes to \(found)")
        }
        measured = watch
      }
      outcome.add(
        measured.rate(
          looks ? "room.looked" : "room", .W3,
          looks ? "a whole room, each leaf looked at" : "a whole room into a node",
          measured.calls, "rooms"))
    }
  }
}
