extension Trial {
  /// W7: half goes, by last use, and a tenth is pinned.
  func runEviction(_ outcome: inout Outcome) async throws {
    let rooms = Rooms(count: plan.rooms, seed: plan.seed)
    try await withEngine { engine in
      for room in 0..<rooms.count {
        try await engine.loading(Rooms.path(room), rooms.node(room), use: UInt64(room + 1)).run()
      }
      let pinned = stride(from: 0, to: rooms.count, by: 10).map { Rooms.path($0) }
      try await engine.pinning(pinned).run()
      let before = Files.allocatedBytes(storeDirectory)
      outcome.digests.append(try engine.digest())
      let operation = try engine.evictingHalf()
      var watch = Stopwatch()
      try await watch.time { try await operation.run() }
      outcome.add(watch.time("evict", .W7, "evicting half of \(rooms.count) rooms"))
      try check(engine, rooms, Set(pinned))
      let after = Files.allocatedBytes(storeDirectory)
      outcome.add("evict.files", .W7, "files after evicting", ratio(after, before), "of before")
      try await reload(engine, rooms)
      outcome.add(
        "evict.growth", .W7, "files after loading as much again",
        ratio(Files.allocatedBytes(storeDirectory), before), "of before")
      try await engine.evictingHalf().run()
      watch = Stopwatch()
      try await watch.time { try await engine.reclaim() }
      outcome.add(watch.time("evict.tidy", .W7, "giving the space back"))
      outcome.add(
        "evict.tidy.files", .W7, "files after evicting and tidying",
        ratio(Files.allocatedBytes(storeDirectory), before), "of before")
    }
  }

  private func ratio(_ now: Int, _ before: Int) -> Double { Double(now) / Double(max(1, before)) }

  /// Pinned rooms are there, about half of all is, and what is left was used last.
  private func check(_ engine: any Engine, _ rooms: Rooms, _ pinned: Set<String>) throws {
    var kept = 0
    var hasKept = false
    for room in 0..<rooms.count {
      let path = Rooms.path(room)
      let leaves = try engine.leaves(path)
      if leaves > 0 { kept += 1 }
      if pinned.contains(path) {
        try require(leaves == Rooms.leaves, "\(path) was pinned and has \(leaves) leaves")
      } else if leaves > 0 {
        hasKept = true
      } else {
        try require(!hasKept, "\(path) went before one that was used earlier")
      }
    }
    let share = Double(kept) / Double(rooms.count)
    try require((0.3...0.7).contains(share), "\(kept) of \(rooms.count) rooms stayed")
  }

  /// Loads what was evicted, under its own names.
  private func reload(_ engine: any Engine, _ rooms: Rooms) async throws {
    for room in 0..<rooms.count where try engine.leaves(Rooms.path(room)) == 0 {
      let use = UInt64(rooms.count + room + 1)
      try await engine.loading(Rooms.path(room), rooms.node(room), use: use).run()
    }
  }
}
