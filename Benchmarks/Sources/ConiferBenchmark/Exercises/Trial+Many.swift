import ConiferTree

extension Trial {
  /// W1 and W8 with many rooms, then W6 on them.
  func runMany(_ outcome: inout Outcome) async throws {
    let rooms = Rooms(count: plan.manyRooms, seed: plan.seed)
    let leaves = rooms.count * Rooms.leaves
    try await withEngine { engine in
      try await load(engine, rooms, suffix: ".many", &outcome)
      outcome.add(
        "live.many", .W1, "live data, \(leaves) leaves",
        Double(try engine.liveBytes() ?? Files.allocatedBytes(storeDirectory)) / Double(leaves),
        "B/leaf")
      if wants(.W1) || wants(.W8) { outcome.digests.append(try engine.digest()) }
    }
    guard wants(.W6), candidate.isPersistent else { return }
    var random = Random(seed: plan.seed &+ 6)
    var queued = 0
    for pending in plan.pending.sorted() {
      try await enqueue(from: queued, to: pending, rooms)
      queued = pending
      for isWarm in [true, false] {
        // Closing does not count, nor does writing back what is to be dropped.
        var watch = Stopwatch(countsBetween: false)
        for _ in 0..<plan.openings {
          let room = random.below(rooms.count)
          let path = Rooms.leafPath(room, rooms.node(room), &random)
          if !isWarm { Files.dropCache(storeDirectory) }
          try await open(path, &watch)
        }
        let words = "\(leaves) leaves, \(pending) pending writes, page cache"
        outcome.add(
          watch.time(
            "open.\(isWarm ? "warm" : "dropped").\(pending)", .W6,
            "\(words) \(isWarm ? "warm" : "dropped")"))
      }
    }
  }

  private func open(_ path: String, _ watch: inout Stopwatch) async throws {
    let engine = try await watch.time { () async throws -> any Engine in
      let engine = try await candidate.open(storeDirectory, durability)
      do {
        try require(try engine.leaf(path) != nil, "\(path) after opening")
      } catch {
        try? await engine.close()
        throw error
      }
      return engine
    }
    try await engine.close()
  }

  private func enqueue(from first: Int, to last: Int, _ rooms: Rooms) async throws {
    guard first < last else { return }
    try await withEngine { engine in
      var number = first
      while number < last {
        let end = min(number + 500, last)
        let writes = (number..<end).map { SmallWrite(lane: 0, number: $0, rooms: rooms) }
        try await engine.enqueueing(writes).run()
        number = end
      }
    }
  }
}
