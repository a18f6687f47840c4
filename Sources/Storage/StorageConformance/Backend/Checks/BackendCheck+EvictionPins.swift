internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Data that eviction never removes.
  static let evictionPins: [BackendCheck] = [
    BackendCheck(.eviction, "a pinned range is never lost, whatever overlaps it", .evictedPin) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      for pin: Path in ["a/b", "a", "a/b/m3", "a/nothing", .root] {
        for key in ["a/b", "a/c", "d"] { try await pair.set(Path(key), pair.noise(60)) }
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
        let ids = try await pair.commit(edits).queries
        for (id, query) in zip(ids, queries) where !query.2.isEmpty {
          try await pair.commit(.setTrackedKeys(tree, id, query.2))
        }
        try await pair.reopen()
        let data = try pair.read(pin)
        _ = try await pair.evictEach()
        try await pair.evict(to: 0)
        try pair.requireNode(pin, is: data)
        let left = try pair.model.tree(tree).queries.values.map(\.path)
        try require(
          left.allSatisfy(pin.contains), "queries outside of the pin at \(pin) are left: \(left)")
        try requireEqual(
          left.count, queries.filter { pin.contains($0.0) }.count,
          "the number of queries that the pin at \(pin) keeps")
        try await pair.commit(.unpin(Pin(tree: tree, path: pin)))
        try await pair.evict(to: 0)
        try pair.requireNode(.root, is: .empty)
      }
    },
    BackendCheck(.eviction, "a pin of a query's parameters keeps all below its path", .evictedPin) {
      fixture in
      let pair = try await fixture.pair()
      let pin = Pin(tree: pair.tree, path: "list", parameters: "{\"l\":2}")
      try await pair.set("list", pair.noise(80))
      try await pair.set("beside", pair.noise(80))
      let id = try await pair.commit(
        .pin(pin),
        .saveQuery(TrackedQuery(tree: pair.tree, path: "list", parameters: "{\"l\":2}"))
      ).queries[0]
      try await pair.commit(.setTrackedKeys(pair.tree, id, ["m4"]))
      try await pair.evict(to: 0)
      try pair.requireNode(.root, is: ["list": pair.noise(80)])
    },
    BackendCheck(.eviction, "active data stays, and goes when it is no longer active", .evictedPin)
    { fixture in
      let pair = try await fixture.pair()
      let ids = try await pair.makeRooms(8)
      for room in [0, 3, 6] { pair.setActive(true, ids[room], in: pair.tree) }
      let report = try await pair.evict(to: 0)
      try requireEqual(
        report.queries.map(\.path), [1, 2, 4, 5, 7].map { Path("rooms/r\($0)") }, "what went")
      try require(!report.isMet, "the report says that a cache of active data is empty")
      pair.setActive(false, ids[3], in: pair.tree)
      let second = try await pair.evict(to: 0)
      try requireEqual(second.queries.map(\.path), ["rooms/r3"], "what went later")
      if fixture.factory.declared.isPersistent {
        try await pair.reopen()
        let third = try await pair.evict(to: 0)
        try requireEqual(
          third.queries.map(\.path), ["rooms/r0", "rooms/r6"],
          "what went after reopening, when nothing is active")
      }
    },
    BackendCheck(
      .eviction, "the outbound queue and all else outside of the cache stay", .lostAcknowledged
    ) { fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(4)
      try await pair.commit(
        (0..<30).map { .enqueue(pair.lane, .set(Path("rooms/r\($0 % 4)/m\($0)"), .text($0 * 40))) })
      try await pair.commit(.setMetadata(pair.tree, "cursor", Array(repeating: 3, count: 3000)))
      let before = try pair.usage(nil)
      try await pair.evict(to: 0)
      let after = try pair.usage(nil)
      try requireEqual(after.queue, before.queue, "usage.queue after an eviction")
      try requireEqual(after.other, before.other, "usage.other after an eviction")
      try requireEqual(after.leafBytes, 0, "usage.leafBytes after an eviction of all")
      try requireEqual(after.leaves, 0, "usage.leaves after an eviction of all")
    },
  ]
}
