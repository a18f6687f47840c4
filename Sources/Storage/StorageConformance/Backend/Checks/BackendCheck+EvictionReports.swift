internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Reports of evictions, and calls that are refused.
  static let evictionReports: [BackendCheck] = [
    BackendCheck(.eviction, "a dry run changes nothing and says what would be evicted", .usageDrift)
    {
      fixture in
      let pair = try await fixture.pair()
      let ids = try await pair.makeRooms(8)
      try await pair.set("stray", pair.noise(60))
      try await pair.commit(.pin(Pin(tree: pair.tree, path: "rooms/r1")))
      pair.setActive(true, ids[2], in: pair.tree)
      let (usage, size) = (try pair.usage(nil), try pair.backend.size())
      let cache = try pair.backend.evicting().space().cache
      for target in [0, cache / 2, cache - 1, cache, .max] {
        let dry = try await pair.backend.evicting().evict(to: target, dryRun: true)
        try require(dry.isDryRun, "the report of a dry run says that it was none")
        try requireEqual(dry.before, cache, "the bytes before in the report")
        try pair.requireSame("after a dry run to \(target)")
        try requireEqual(try pair.usage(nil), usage, "the usage after a dry run")
        try requireEqual(try pair.backend.size().live, size.live, "the live bytes after a dry run")
      }
      try await pair.evict(to: cache / 2)
      try await pair.evict(to: 0)
    },
    BackendCheck(.eviction, "a report's bytes are those that were freed", .usageDrift) { fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(10)
      try await pair.set("stray", pair.noise(60))
      let before = try pair.backend.evicting().space().cache
      let report = try await pair.evict(to: before / 2)
      let after = try pair.backend.evicting().space().cache
      try requireEqual(report.before, before, "the bytes before in the report")
      let parts = report.uncovered + report.queries.reduce(0) { $0 + $1.bytes }
      try require(
        abs(before - after - parts) <= pair.slack(before),
        "parts of \(parts) bytes went, and the cache shrank by \(before - after)")
      // Half of eleven equal parts, rounded up to the store's pages.
      try require(
        report.queries.count <= 7, "\(report.queries.count) of 10 rooms went for half of the cache")
      try require(report.uncovered > 4000, "uncovered data freed \(report.uncovered) bytes")
      try require(
        after >= before / 2 - 6 * 6000, "\(after) bytes are left, when \(before / 2) were asked for"
      )
    },
    BackendCheck(.eviction, "the parts of a store's space add up", .usageDrift) { fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(10)
      try await pair.commit(
        .pin(Pin(tree: pair.tree, path: "rooms/r1")),
        .pin(Pin(tree: pair.tree, path: "rooms/r1/m1")),
        .enqueue(pair.lane, .set("w", .text(20_000))),
        .setMetadata(pair.tree, "cursor", Array(repeating: 3, count: 3000)))
      let empty = StorageSpace()
      for round in 0..<3 {
        let (space, size, usage) = (
          try pair.backend.evicting().space(), try pair.backend.size(), try pair.usage(nil)
        )
        try require(
          space.cache + space.queue + space.other <= size.live + 16,
          "\(space) is more than the \(size.live) live bytes")
        try require(space.pinned <= space.cache, "pinned data is more than the cache: \(space)")
        try require(space.cache >= usage.leafBytes, "the cache is less than its records: \(space)")
        try require(space.queue >= usage.queue, "the queue is less than its records: \(space)")
        try require(space.pinned > 4000, "pinned data takes \(space.pinned) bytes")
        if !fixture.factory.worksInBackground {
          try requireEqual(space.file, size.file, "space.file")
        }
        try require(space.budget == empty.budget, "space.budget is \(space.budget ?? 0)")
        if round == 0 { try await pair.reopen() } else { try await pair.evict(to: 0) }
      }
      try await pair.commit(
        .unpin(Pin(tree: pair.tree, path: "rooms/r1")),
        .unpin(Pin(tree: pair.tree, path: "rooms/r1/m1")))
      try requireEqual(
        try pair.backend.evicting().space().pinned, 0, "the pinned bytes without a pin")
    },
    BackendCheck(.eviction, "invalid evictions and explanations are refused", .wrongError) {
      fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(2)
      let backend = pair.backend
      try await expect(.invalid, "an eviction to -1") { () throws(StoreError) in
        try await backend.evicting().evict(to: -1, dryRun: false)
      }
      try await expect(.invalid, "an unknown tree's explanation") { () throws(StoreError) in
        try backend.evicting().explain(TreeID(rawValue: 4_000_000), .root)
      }
      backend.setActive(true, QueryID(rawValue: 999), in: pair.tree)
      backend.setActive(false, QueryID(rawValue: 999), in: TreeID(rawValue: 4_000_000))
      try pair.requireSame("after the refusals")
      try await backend.suspend()
      try await expect(.suspended, "an eviction") { () throws(StoreError) in
        try await backend.evicting().evict(to: 0, dryRun: false)
      }
      try await expect(.suspended, "an explanation") { () throws(StoreError) in
        try backend.evicting().explain(pair.tree, .root)
      }
      try await expect(.suspended, "space") { () throws(StoreError) in
        try backend.evicting().space()
      }
      try await backend.resume()
      try pair.requireSame("after resuming")
      try await backend.close()
      try await expect(.closed, "an eviction") { () throws(StoreError) in
        try await backend.evicting().evict(to: 0, dryRun: false)
      }
      try await expect(.closed, "a dry run") { () throws(StoreError) in
        try await backend.evicting().evict(to: 0, dryRun: true)
      }
      try await expect(.closed, "an explanation") { () throws(StoreError) in
        try backend.evicting().explain(pair.tree, .root)
      }
      try await expect(.closed, "space") { () throws(StoreError) in try backend.evicting().space() }
      backend.setActive(true, QueryID(rawValue: 1), in: pair.tree)
    },
    BackendCheck(.eviction, "reading, explaining and listening change nothing", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      let ids = try await pair.makeRooms(6)
      try await pair.reopen()
      let last = try await pair.commit([]).commit
      let (usage, size) = (try pair.usage(nil), try pair.backend.size())
      for round in 0..<40 {
        let id = ids[round % ids.count]
        pair.setActive(round % 3 != 0, id, in: pair.tree)
        _ = try pair.read(Path("rooms/r\(round % 6)"))
        _ = try pair.backend.evicting().explain(pair.tree, "rooms")
        _ = try pair.backend.evicting().space()
      }
      try requireEqual(try pair.usage(nil), usage, "the usage after reading and listening")
      try fixture.requireSize(try pair.backend.size(), size, "the size after reading and listening")
      for (index, id) in ids.enumerated() {
        let found = try pair.backend.read { (view) throws(StoreError) in
          try view.trackedQuery(pair.tree, id)?.lastUse
        }
        try requireEqual(found, UInt64(index + 1), "a stored use after listening alone")
      }
      try requireEqual(
        try await pair.commit([]).commit.rawValue - last.rawValue <= 1, true,
        "whether listening committed nothing")
    },
  ]
}
