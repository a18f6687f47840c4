internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Tracked queries, their keys, and what follows from them.
  static let queries: [BackendCheck] = [
    BackendCheck(
      .queries, "a tracked query is saved with all its fields and found", .lostAcknowledged
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let queries = [
        TrackedQuery(tree: tree, path: "rooms", isComplete: true, lastUse: 7),
        TrackedQuery(
          tree: tree, path: "rooms", parameters: "{\"i\":\"ts\",\"l\":50,\"vf\":\"r\"}",
          lastUse: .max, isKnownMissing: true, resumeToken: [0, 255, 1]),
        TrackedQuery(tree: tree, path: .root, parameters: "{\"i\":\".key\"}"),
        TrackedQuery(tree: tree, path: "rooms/one"), TrackedQuery(tree: tree, path: "room"),
        TrackedQuery(tree: tree, path: "rooms2/one/two", parameters: "\u{E9}"),
        TrackedQuery(tree: tree, path: "rooms2/one/two", parameters: "e\u{301}"),
        TrackedQuery(tree: pair.other, path: "rooms", lastUse: 1),
      ]
      try await pair.commit(queries.map { .saveQuery($0) })
      try pair.requireSame()
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
    BackendCheck(.queries, "saving again replaces the record under the same number", .reusedID) {
      fixture in
      let pair = try await fixture.pair()
      var query = TrackedQuery(tree: pair.tree, path: "a", parameters: "{\"l\":1}")
      let first = try await pair.commit(.saveQuery(query))
      try await pair.commit(.setTrackedKeys(pair.tree, first.queries[0], ["k"]))
      query.isComplete = true
      query.lastUse = 99
      query.resumeToken = [1, 2, 3]
      let second = try await pair.commit(.saveQuery(query), .saveQuery(query))
      try requireEqual(second.queries, [first.queries[0], first.queries[0]], "the numbers")
      try pair.requireSame()
    },
    BackendCheck(.queries, "removing a query removes its keys; numbers never repeat", .reusedID) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let query = TrackedQuery(tree: tree, path: "a", parameters: "{\"l\":1}")
      let first = try await pair.commit(.saveQuery(query)).queries[0]
      try await pair.commit(.setTrackedKeys(tree, first, ["k", "l"]))
      try await pair.commit(.removeQuery(tree, first))
      try pair.requireSame()
      let keys = try pair.backend.read { (view) throws(StoreError) in
        try view.trackedKeys(tree, first)
      }
      try requireEqual(keys, [], "the keys of a removed query")
      try requireEqual(try pair.usage(tree).trackedQueries > 64, false, "whether records are left")
      try await pair.reopen()
      let second = try await pair.commit(.saveQuery(query)).queries[0]
      try require(second > first, "the number \(second.rawValue) was given twice")
      try pair.requireSame("after saving again")
    },
    BackendCheck(.queries, "key sets are replaced exactly and changed by deltas", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let id = try await pair.commit(
        .saveQuery(TrackedQuery(tree: tree, path: "a", parameters: "{\"l\":9}"))
      ).queries[0]
      let odd: [Key] = ["b", "10", "9", "01", "1", "\u{0}", "\u{1F600}", "\u{FFFF}", "a/b", "b"]
      try await pair.commit(.setTrackedKeys(tree, id, odd))
      try pair.requireSame("after setting")
      try await pair.commit(.setTrackedKeys(tree, id, ["x", "y", "b"]))
      try pair.requireSame("after replacing")
      try await pair.commit(
        .updateTrackedKeys(tree, id, added: ["z", "y"], removed: ["x", "nobody"]))
      try pair.requireSame("after a delta")
      let many = (0..<3000).map { Key("key\($0)") }
      try await pair.commit(.setTrackedKeys(tree, id, many))
      try await pair.commit(
        .updateTrackedKeys(tree, id, added: ["0"], removed: Array(many[1000..<2500])))
      try await pair.reopen()
      try pair.requireSame("with thousands")
      try await pair.commit(.setTrackedKeys(tree, id, []))
      try pair.requireSame("after emptying")
    },
    BackendCheck(.queries, "an unknown query is invalid", .wrongError) { fixture in
      let pair = try await fixture.pair()
      let (tree, nobody) = (pair.tree, QueryID(rawValue: 77))
      try await pair.refuse("keys of an unknown query", .setTrackedKeys(tree, nobody, ["a"]))
      try await pair.refuse(
        "a delta of an unknown query", .updateTrackedKeys(tree, nobody, added: [], removed: ["a"]))
    },
    BackendCheck(
      .queries, "the queries at and below a path are found without those beside it", .wrongData
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let paths: [Path] = [
        "a", "a/b", "a/b/c", "a/bb", "ab", "a/10", "a/9", "1", "12", "12/x", .root, "a/b/c/d",
        Path((0..<7).map { Key("\($0)" + String(repeating: "k", count: 98)) }),
        Path((0..<8).map { Key("\($0)" + String(repeating: "k", count: 98)) }),
      ]
      for path in paths {
        try await pair.commit(
          .saveQuery(TrackedQuery(tree: tree, path: path)),
          .saveQuery(TrackedQuery(tree: tree, path: path, parameters: "{\"l\":3}")))
      }
      try pair.requireSame()
      let model = ModelView(pair.model)
      for path in paths + ["a/b/c/d/e", "nowhere", "a/1"] {
        let found = try pair.backend.read { (view) throws(StoreError) in
          [
            try view.trackedQueries(tree, at: path), try view.trackedQueries(tree, below: path),
          ].map { $0.sorted { $0.id < $1.id } }
        }
        try requireEqual(
          found,
          [try model.trackedQueries(tree, at: path), try model.trackedQueries(tree, below: path)],
          "the lists of queries at and below \(path)")
      }
    },
    BackendCheck(.queries, "completeness follows from queries here and above", .falseComplete) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let ids = try await pair.commit(
        .saveQuery(TrackedQuery(tree: tree, path: "foo/a", isComplete: true)),
        .saveQuery(TrackedQuery(tree: tree, path: "foo/not-included")),
        .saveQuery(TrackedQuery(tree: tree, path: "foo/deep/er", isComplete: true)),
        .saveQuery(TrackedQuery(tree: tree, path: "foo", parameters: "{\"l\":2}")),
        .saveQuery(TrackedQuery(tree: tree, path: "bar", parameters: "{\"l\":1}", isComplete: true))
      ).queries
      try await pair.commit(.setTrackedKeys(tree, ids[3], ["d", "e"]))
      let found = try pair.backend.read { (view) throws(StoreError) in
        (
          try view.knownCompleteChildren(tree, "foo"),
          [
            try view.isComplete(tree, "foo"), try view.isComplete(tree, "foo/a"),
            try view.isComplete(tree, "foo/a/below"), try view.isComplete(tree, "foo/not-included"),
            try view.isComplete(tree, "foo", "{\"l\":2}"), try view.isComplete(tree, "bar"),
            try view.isComplete(tree, "bar", "{\"l\":1}"),
            try view.isComplete(tree, "foo/a", "{\"l\":1}"),
          ]
        )
      }
      try requireEqual(found.0, ["a", "d", "e"], "the set of complete children of foo")
      try requireEqual(
        found.1, [false, true, true, false, false, false, true, true], "the list of completeness")
    },
  ]
}
