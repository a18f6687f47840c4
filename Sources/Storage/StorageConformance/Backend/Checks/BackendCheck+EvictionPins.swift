internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// What eviction never takes.
  static let evictionPins: [BackendCheck] = [
    BackendCheck(.eviction, "a pinned range is never lost, whatever overlaps it", .evictedPin) {
      bench in
      let twin = try await bench.twin()
      let tree = twin.tree
      for pin: Path in ["a/b", "a", "a/b/m3", "a/nothing", .root] {
        for key in ["a/b", "a/c", "d"] { try await twin.set(Path(key), twin.noise(60)) }
        let queries: [(Path, String, [Key])] = [
          (.root, "default", []), ("a", "default", []), ("a/b", "default", []),
          ("a/b/m3", "default", []), ("a", "{\"l\":1}", ["b"]), ("a", "{\"l\":2}", ["c"]),
          ("a/b", "{\"l\":1}", ["m1", "m3"]), ("a/b", "{\"l\":2}", []), ("d", "default", []),
        ]
        var edits: [StorageEdit] = [.pin(Pin(tree: tree, path: pin))]
        for (path, parameters, _) in queries {
          edits.append(
            .saveQuery(TrackedQuery(tree: tree, path: path, parameters: parameters, lastUse: 1)))
        }
        let ids = try await twin.commit(edits).queries
        for (id, query) in zip(ids, queries) where !query.2.isEmpty {
          try await twin.commit(.setTrackedKeys(tree, id, query.2))
        }
        try await twin.reopen()
        let data = try twin.read(pin)
        _ = try await twin.evictEach()
        try await twin.evict(to: 0)
        try twin.shows(pin, is: data)
        let left = try twin.model.tree(tree).queries.values.map(\.path)
        try require(
          left.allSatisfy(pin.contains), "queries outside of the pin at \(pin) are left: \(left)")
        try requireEqual(
          left.count, queries.filter { pin.contains($0.0) }.count,
          "the number of queries that the pin at \(pin) keeps")
        try await twin.commit(.unpin(Pin(tree: tree, path: pin)))
        try await twin.evict(to: 0)
        try twin.shows(.root, is: .empty)
      }
    },
    BackendCheck(.eviction, "a pin of a query's parameters keeps all below its path", .evictedPin) {
      bench in
      let twin = try await bench.twin()
      let pin = Pin(tree: twin.tree, path: "list", parameters: "{\"l\":2}")
      try await twin.set("list", twin.noise(80))
      try await twin.set("beside", twin.noise(80))
      let id = try await twin.commit(
        .pin(pin),
        .saveQuery(TrackedQuery(tree: twin.tree, path: "list", parameters: "{\"l\":2}"))
      ).queries[0]
      try await twin.commit(.setTrackedKeys(twin.tree, id, ["m4"]))
      try await twin.evict(to: 0)
      try twin.shows(.root, is: ["list": twin.noise(80)])
    },
    BackendCheck(.eviction, "active data stays, and goes when it is no longer active", .evictedPin)
    { bench in
      let twin = try await bench.twin()
      let ids = try await twin.makeRooms(8)
      for room in [0, 3, 6] { twin.setActive(true, ids[room], in: twin.tree) }
      let report = try await twin.evict(to: 0)
      try requireEqual(
        report.queries.map(\.path), [1, 2, 4, 5, 7].map { Path("rooms/r\($0)") }, "what went")
      try require(!report.isMet, "the report says that a cache of active data is empty")
      twin.setActive(false, ids[3], in: twin.tree)
      let second = try await twin.evict(to: 0)
      try requireEqual(second.queries.map(\.path), ["rooms/r3"], "what went later")
      if bench.factory.declared.isPersistent {
        try await twin.reopen()
        let third = try await twin.evict(to: 0)
        try requireEqual(
          third.queries.map(\.path), ["rooms/r0", "rooms/r6"],
          "what went after reopening, when nothing is active")
      }
    },
    BackendCheck(.eviction, "the outbound queue and what else is not cache stay", .lostAcknowledged)
    { bench in
      let twin = try await bench.twin()
      try await twin.makeRooms(4)
      try await twin.commit(
        (0..<30).map { .enqueue(twin.lane, .set(Path("rooms/r\($0 % 4)/m\($0)"), .text($0 * 40))) })
      try await twin.commit(.setMetadata(twin.tree, "cursor", Array(repeating: 3, count: 3000)))
      let before = try twin.usage(nil)
      try await twin.evict(to: 0)
      let after = try twin.usage(nil)
      try requireEqual(after.queue, before.queue, "usage.queue after an eviction")
      try requireEqual(after.other, before.other, "usage.other after an eviction")
      try requireEqual(after.cache, 0, "usage.cache after an eviction of all")
      try requireEqual(after.leaves, 0, "usage.leaves after an eviction of all")
    },
  ]
}
