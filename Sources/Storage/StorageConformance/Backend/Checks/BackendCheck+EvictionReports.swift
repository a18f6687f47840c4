internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// What is told of an eviction, and what calls are refused.
  static let evictionReports: [BackendCheck] = [
    BackendCheck(.eviction, "a dry run changes nothing and says what would go", .usageDrift) {
      bench in
      let twin = try await bench.twin()
      let ids = try await twin.makeRooms(8)
      try await twin.set("stray", twin.noise(60))
      try await twin.commit(.pin(Pin(tree: twin.tree, path: "rooms/r1")))
      twin.setActive(true, ids[2], in: twin.tree)
      let (usage, size) = (try twin.usage(nil), try twin.backend.size())
      let cache = try twin.backend.evicting().space().cache
      for target in [0, cache / 2, cache - 1, cache, .max] {
        let dry = try await twin.backend.evicting().evict(to: target, dryRun: true)
        try require(dry.isDryRun, "the report of a dry run says that it was none")
        try requireEqual(dry.before, cache, "the bytes before in the report")
        try twin.same("after a dry run to \(target)")
        try requireEqual(try twin.usage(nil), usage, "the usage after a dry run")
        try requireEqual(try twin.backend.size().live, size.live, "the live bytes after a dry run")
      }
      try await twin.evict(to: cache / 2)
      try await twin.evict(to: 0)
    },
    BackendCheck(.eviction, "a report's bytes are those that went", .usageDrift) { bench in
      let twin = try await bench.twin()
      try await twin.makeRooms(10)
      try await twin.set("stray", twin.noise(60))
      let before = try twin.backend.evicting().space().cache
      let report = try await twin.evict(to: before / 2)
      let after = try twin.backend.evicting().space().cache
      try requireEqual(report.before, before, "the bytes before in the report")
      let parts = report.uncovered + report.queries.reduce(0) { $0 + $1.bytes }
      try require(
        abs(before - after - parts) <= twin.slack(before),
        "parts of \(parts) bytes went, and the cache shrank by \(before - after)")
      // Of eleven like pieces, half and what the store's pages round it up to.
      try require(
        report.queries.count <= 7, "\(report.queries.count) of 10 rooms went for half of the cache")
      try require(report.uncovered > 4000, "uncovered data freed \(report.uncovered) bytes")
      try require(
        after >= before / 2 - 6 * 6000, "\(after) bytes are left, when \(before / 2) were asked for"
      )
    },
    BackendCheck(.eviction, "the parts of a store's space add up", .usageDrift) { bench in
      let twin = try await bench.twin()
      try await twin.makeRooms(10)
      try await twin.commit(
        .pin(Pin(tree: twin.tree, path: "rooms/r1")),
        .pin(Pin(tree: twin.tree, path: "rooms/r1/m1")),
        .enqueue(twin.lane, .set("w", .text(20_000))),
        .setMetadata(twin.tree, "cursor", Array(repeating: 3, count: 3000)))
      let empty = StorageSpace()
      for round in 0..<3 {
        let (space, size, usage) = (
          try twin.backend.evicting().space(), try twin.backend.size(), try twin.usage(nil)
        )
        try require(
          space.cache + space.queue + space.other <= size.live + 16,
          "\(space) is more than the \(size.live) live bytes")
        try require(space.pinned <= space.cache, "pinned data is more than the cache: \(space)")
        try require(space.cache >= usage.cache, "the cache is less than its records: \(space)")
        try require(space.queue >= usage.queue, "the queue is less than its records: \(space)")
        try require(space.pinned > 4000, "pinned data takes \(space.pinned) bytes")
        if !bench.factory.worksInBackground {
          try requireEqual(space.file, size.file, "space.file")
        }
        try require(space.budget == empty.budget, "space.budget is \(space.budget ?? 0)")
        if round == 0 { try await twin.reopen() } else { try await twin.evict(to: 0) }
      }
      try await twin.commit(
        .unpin(Pin(tree: twin.tree, path: "rooms/r1")),
        .unpin(Pin(tree: twin.tree, path: "rooms/r1/m1")))
      try requireEqual(
        try twin.backend.evicting().space().pinned, 0, "the pinned bytes without a pin")
    },
    BackendCheck(.eviction, "what cannot be evicted or explained is refused", .wrongError) {
      bench in
      let twin = try await bench.twin()
      try await twin.makeRooms(2)
      let backend = twin.backend
      try await expect(.invalid, "an eviction to -1") { () throws(StoreError) in
        try await backend.evicting().evict(to: -1, dryRun: false)
      }
      try await expect(.invalid, "an unknown tree's explanation") { () throws(StoreError) in
        try backend.evicting().explain(TreeID(rawValue: 4_000_000), .root)
      }
      backend.setActive(true, QueryID(rawValue: 999), in: twin.tree)
      backend.setActive(false, QueryID(rawValue: 999), in: TreeID(rawValue: 4_000_000))
      try twin.same("after the refusals")
      try await backend.suspend()
      try await expect(.suspended, "an eviction") { () throws(StoreError) in
        try await backend.evicting().evict(to: 0, dryRun: false)
      }
      try await expect(.suspended, "an explanation") { () throws(StoreError) in
        try backend.evicting().explain(twin.tree, .root)
      }
      try await expect(.suspended, "space") { () throws(StoreError) in
        try backend.evicting().space()
      }
      try await backend.resume()
      try twin.same("after resuming")
      try await backend.close()
      try await expect(.closed, "an eviction") { () throws(StoreError) in
        try await backend.evicting().evict(to: 0, dryRun: false)
      }
      try await expect(.closed, "a dry run") { () throws(StoreError) in
        try await backend.evicting().evict(to: 0, dryRun: true)
      }
      try await expect(.closed, "an explanation") { () throws(StoreError) in
        try backend.evicting().explain(twin.tree, .root)
      }
      try await expect(.closed, "space") { () throws(StoreError) in try backend.evicting().space() }
      backend.setActive(true, QueryID(rawValue: 1), in: twin.tree)
    },
    BackendCheck(.eviction, "reading, asking and listening change nothing", .wrongData) { bench in
      let twin = try await bench.twin()
      let ids = try await twin.makeRooms(6)
      try await twin.reopen()
      let last = try await twin.commit([]).commit
      let (usage, size) = (try twin.usage(nil), try twin.backend.size())
      for round in 0..<40 {
        let id = ids[round % ids.count]
        twin.setActive(round % 3 != 0, id, in: twin.tree)
        _ = try twin.read(Path("rooms/r\(round % 6)"))
        _ = try twin.backend.evicting().explain(twin.tree, "rooms")
        _ = try twin.backend.evicting().space()
      }
      try requireEqual(try twin.usage(nil), usage, "the usage after reading and listening")
      try bench.requireSize(try twin.backend.size(), size, "the size after reading and listening")
      for (index, id) in ids.enumerated() {
        let found = try twin.backend.read { (view) throws(StoreError) in
          try view.trackedQuery(twin.tree, id)?.lastUse
        }
        try requireEqual(found, UInt64(index + 1), "a stored use after listening alone")
      }
      try requireEqual(
        try await twin.commit([]).commit.rawValue - last.rawValue <= 1, true,
        "whether listening committed nothing")
    },
  ]
}
