internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// What a query covers.
  static let evictionCoverage: [BackendCheck] = [
    BackendCheck(.eviction, "data that no query covers goes before any query") { fixture in
      let pair = try await fixture.pair()
      try await pair.makeRooms(4)
      for path: Path in ["before", "rooms/r1a", "rooms/x/y", "then"] {
        try await pair.set(path, pair.noise(60, seed: UInt64(path.count)))
      }
      try await pair.commit(.overwrite(pair.other, .root, pair.noise(60)))
      let rooms = (0..<4).map { (Key("r\($0)"), pair.noise(60, seed: UInt64($0 + 1))) }
      let uncovered =
        try pair.backend.evicting().explain(pair.tree, .root).uncovered
        + pair.backend.evicting().explain(pair.other, .root).uncovered
      let half = try await pair.evict(to: pair.backend.evicting().space().cache - uncovered / 2)
      try requireEqual(half.queries.map(\.path), [], "the queries that went for uncovered data")
      try require(half.uncovered >= uncovered / 3, "\(half.uncovered) uncovered bytes went")
      var left = try await pair.evict(to: try pair.backend.evicting().space().cache - 1)
      while left.queries.isEmpty {
        try require(left.uncovered > 0, "nothing went, and the target was not reached")
        left = try await pair.evict(to: try pair.backend.evicting().space().cache - 1)
      }
      try requireEqual(left.queries.map(\.path), ["rooms/r0"], "the first query that went")
      try pair.requireNode(.root, is: ["rooms": Node(children: Array(rooms.dropFirst()))])
    },
    BackendCheck(.eviction, "a filtered query covers the children that it holds", .falseComplete) {
      fixture in
      let pair = try await fixture.pair()
      let (tree, list) = (pair.tree, pair.noise(200))
      let odd: Node = ["a": ["b": 1], "c": 2]
      try await pair.set("list", list.setting(Key("m7"), to: odd))
      let parameters = "{\"l\":3}"
      let id = try await pair.commit(
        .saveQuery(TrackedQuery(tree: tree, path: "list", parameters: parameters, lastUse: 1))
      ).queries[0]
      try await pair.commit(.setTrackedKeys(tree, id, ["m3", "m7", "m77", "absent"]))
      pair.setActive(true, id, in: tree)
      let report = try await pair.evict(to: 0)
      try require(report.uncovered > 10_000, "\(report.uncovered) uncovered bytes went")
      try pair.requireNode(
        "list",
        is: Node(children: [
          (Key("m3"), list[Key("m3")]), (Key("m7"), odd), (Key("m77"), list[Key("m77")]),
        ]))
      try await pair.set("list/m5", list[Key("m5")])
      try await pair.commit(.updateTrackedKeys(tree, id, added: ["m5"], removed: ["m7"]))
      try await pair.evict(to: 0)
      try pair.requireNode(
        "list",
        is: Node(children: [
          (Key("m3"), list[Key("m3")]), (Key("m5"), list[Key("m5")]),
          (Key("m77"), list[Key("m77")]),
        ]))
    },
    BackendCheck(.eviction, "a query that holds no keys covers its whole path", .falseComplete) {
      fixture in
      let pair = try await fixture.pair()
      let (tree, list) = (pair.tree, pair.noise(100))
      try await pair.commit(.overwrite(tree, "list", list), .overwrite(tree, "beside", list))
      let id = try await pair.commit(
        .saveQuery(TrackedQuery(tree: tree, path: "list", parameters: "{\"l\":3}", lastUse: 1))
      ).queries[0]
      pair.setActive(true, id, in: tree)
      try await pair.evict(to: 0)
      try pair.requireNode(.root, is: ["list": list])
      try await pair.commit(.setTrackedKeys(tree, id, ["m1"]))
      try await pair.commit(.setTrackedKeys(tree, id, []))
      try await pair.evict(to: 0)
      try pair.requireNode(.root, is: ["list": list])
    },
    BackendCheck(
      .eviction, "queries of every kind that overlap each keep their part", .falseComplete
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      for (index, key) in ["a", "b", "c", "d"].enumerated() {
        try await pair.set(Path("foo/\(key)"), pair.noise(40, seed: UInt64(index)))
      }
      let queries: [(Path, String, [Key])] = [
        ("foo", "{\"l\":2}", ["a", "b"]), ("foo/b", "{\"l\":5}", ["m1", "m2", "m39"]),
        ("foo", "{\"l\":3}", ["b", "c"]), (.root, "{\"l\":9}", ["foo"]),
        ("foo/c", TrackedQuery.defaultParameters, []), ("foo/d/m4", "{\"l\":1}", []),
      ]
      for first in queries.indices {
        var ids: [QueryID] = []
        for (use, index) in (first..<first + queries.count).enumerated() {
          let (path, parameters, keys) = queries[index % queries.count]
          let id = try await pair.commit(
            .saveQuery(
              TrackedQuery(
                tree: tree, path: path, parameters: parameters, lastUse: UInt64(use + 1)))
          ).queries[0]
          if !keys.isEmpty { try await pair.commit(.setTrackedKeys(tree, id, keys)) }
          ids.append(id)
        }
        // The model says after each what must be left.
        _ = try await pair.evictEach()
        try pair.requireNode(.root, is: .empty)
        for (index, key) in ["a", "b", "c", "d"].enumerated() {
          try await pair.set(Path("foo/\(key)"), pair.noise(40, seed: UInt64(index)))
        }
      }
    },
    BackendCheck(
      .eviction, "what is covered stays whole under long paths and long keys", .falseComplete
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let long = String(repeating: "long ", count: 50)
      let deep = Path((0..<6).map { Key(String(repeating: "d\($0)", count: 30)) })
      let far = Path([Key(long + "a"), Key(long + "b")])
      let keys = (0..<40).map { Key(long + "\($0)") }
      let list = Node(children: keys.map { ($0, pair.noise(2)) })
      try await pair.commit(
        .overwrite(tree, "list", list), .overwrite(tree, deep, pair.noise(20)),
        .overwrite(tree, far, pair.noise(20)), .overwrite(tree, "short", pair.noise(40)))
      let saved = try await pair.commit(
        .saveQuery(TrackedQuery(tree: tree, path: "list", parameters: "{\"l\":2}")),
        .saveQuery(TrackedQuery(tree: tree, path: deep)),
        .saveQuery(TrackedQuery(tree: tree, path: far, parameters: "{\"l\":2}")))
      try await pair.commit(
        .setTrackedKeys(tree, saved.queries[0], [keys[3], keys[20]]),
        .setTrackedKeys(tree, saved.queries[2], ["m5", keys[3]]))
      for id in saved.queries { pair.setActive(true, id, in: tree) }
      try await pair.evict(to: 0, comparesState: false)
      let found = try pair.read(.root)
      let least = try pair.model.tree(tree).kept(by: saved.queries)
      try require(least.isPart(of: found), "data is gone that a query covers")
      try require(found.isPart(of: try pair.model.tree(tree).root), "data was changed")
      try pair.requireNode("short", is: .empty, ofModel: false)
      for id in saved.queries { pair.setActive(false, id, in: tree) }
      try await pair.evict(to: 0, comparesState: false)
      try pair.requireNode(.root, is: .empty, ofModel: false)
    },
  ]
}
