internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Overwrites and merges, as the Realtime Database's clients store server data.
  static let treeWrites: [BackendCheck] = [
    BackendCheck(.tree, "what was written is read back at its path, above and below", .wrongData) {
      bench in
      let twin = try await bench.twin()
      let room: Node = ["title": "Lobby", "members": ["ada": true, "bob": false]]
      try await twin.set("rooms/one", room)
      try twin.shows("rooms/one", is: room)
      try twin.shows(.root, is: ["rooms": ["one": room]])
      try twin.shows("rooms/one/members/bob", is: false)
      try twin.shows("rooms/one/members/bob/deeper", is: .empty)
      try twin.shows("rooms/two", is: .empty)
      try twin.same()
    },
    BackendCheck(.tree, "a later overwrite replaces all below it and nothing beside it", .wrongData)
    { bench in
      let twin = try await bench.twin()
      try await twin.set("a", ["x": ["p": 1, "q": 2], "y": 3])
      try await twin.set("a/x", ["r": 4])
      try twin.shows("a", is: ["x": ["r": 4], "y": 3])
      try await twin.set("a/x/r/s", 5)
      try twin.shows("a", is: ["x": ["r": ["s": 5]], "y": 3])
      try await twin.set("a", 6)
      try twin.shows("a", is: 6)
      try await twin.set(.root, ["b": 7])
      try twin.shows(.root, is: ["b": 7])
      try twin.same()
    },
    BackendCheck(.tree, "a child set after its parent merges in", .wrongData) { bench in
      let twin = try await bench.twin()
      try await twin.set("a", ["x": 1])
      try await twin.set("a/y", 2)
      try twin.shows("a", is: ["x": 1, "y": 2])
    },
    BackendCheck(.tree, "an empty overwrite deletes and drops parents without a child", .phantom) {
      bench in
      let twin = try await bench.twin()
      try await twin.set("a/b/c/d", 1)
      try await twin.set("a/e", 2)
      try await twin.set("a/b/c/d", .empty)
      try twin.shows(.root, is: ["a": ["e": 2]])
      try await twin.set("a/e", .empty)
      try twin.shows(.root, is: .empty)
      try twin.same()
    },
    BackendCheck(.tree, "deleting below a leaf or below nothing changes nothing", .wrongData) {
      bench in
      let twin = try await bench.twin()
      try await twin.set("a", "leaf")
      try await twin.set("a/b/c", .empty)
      try await twin.set("x/y", .empty)
      try twin.shows(.root, is: ["a": "leaf"])
      try twin.same()
    },
    BackendCheck(.tree, "a merge keeps the siblings of what it names", .wrongData) { bench in
      let twin = try await bench.twin()
      let tree = twin.tree
      try await twin.commit(.merge(tree, "a", [.init("x", 1), .init("y/z", 2)]))
      try twin.shows("a", is: ["x": 1, "y": ["z": 2]])
      try await twin.commit(.merge(tree, "a", [.init("y", 3), .init("w", ["v": 4])]))
      try twin.shows("a", is: ["x": 1, "y": 3, "w": ["v": 4]])
      try await twin.commit(.merge(tree, "a", [.init("x", .empty), .init("w/u", 5)]))
      try twin.shows("a", is: ["y": 3, "w": ["v": 4, "u": 5]])
      try await twin.set("a", ["only": true])
      try twin.shows("a", is: ["only": true])
      try await twin.commit(.merge(tree, .root, []))
      try twin.same()
    },
    BackendCheck(.tree, "a deeper write removes the leaf values of all ancestors", .phantom) {
      bench in
      let twin = try await bench.twin()
      let path: Path = "lvl1/lvl2/lvl3/lvl4"
      for depth in 0...4 {
        try await twin.set(Path(Array(path.keys.prefix(depth))), Node(.integer(Int64(depth))))
        try twin.same("at depth \(depth)")
      }
      try twin.shows(.root, is: ["lvl1": ["lvl2": ["lvl3": ["lvl4": 4]]]])
    },
    BackendCheck(.tree, "a key that begins with another is another key", .wrongData) { bench in
      let twin = try await bench.twin()
      for key in ["123", "1230", "12", "a", "ab", "a!", "a\u{1}"] {
        try await twin.set(Path([Key(key)]), ["x": Node(.string(key))])
      }
      try await twin.set("123", .empty)
      try await twin.set("a", ["y": 1])
      try twin.shows("1230/x", is: "1230")
      try twin.shows("ab/x", is: "ab")
      try twin.same()
    },
    BackendCheck(.tree, "edits of one commit see the earlier ones", .halfBatch) { bench in
      let twin = try await bench.twin()
      let tree = twin.tree
      try await twin.commit(
        .overwrite(tree, "a", ["x": 1, "y": 2]), .overwrite(tree, "a/x", .empty),
        .merge(tree, "a", [.init("z/w", 3)]), .overwrite(tree, "a/y/deep", 4),
        .overwrite(tree, "b", 5), .overwrite(tree, "b", .empty))
      try twin.shows(.root, is: ["a": ["y": ["deep": 4], "z": ["w": 3]]])
      try twin.same()
    },
    BackendCheck(.tree, "numbers, server values and their hashes come back exactly", .wrongData) {
      bench in
      let twin = try await bench.twin()
      let leaves: [Leaf] = [
        .integer(1_542_405_709_418_655_810), .integer(.max), .integer(.min), .integer(-1),
        .integer(9_007_199_254_740_993), .integer(0), .double(2.47),
        .double(.leastNonzeroMagnitude),
        .double(.greatestFiniteMagnitude), .double(-0.1), .double(999.999_999_999_999_948_7),
        .double(1e21), .bool(true), .bool(false), .string(""), .string("null"),
        .serverValue(.timestamp), .serverValue(.increment(.integer(5))),
        .serverValue(.increment(.double(-0.5))), .serverValue(.other(name: "later")),
      ]
      let node = Node(children: leaves.enumerated().map { (Key($0.offset), Node($0.element)) })
      try await twin.set("values", node)
      try twin.shows("values", is: node)
      for (index, leaf) in leaves.enumerated() {
        try twin.shows(Path("values").appending(Key(index)), is: Node(leaf))
      }
      try await twin.set("hash", 2.47)
      try requireEqual(
        NodeHash.hash(try twin.read("hash")), "EsibHXKcBp2/b/bn/a0C5WffcUU=", "the hash of 2.47")
      try await twin.set("big", 9_007_199_254_740_992)
      try await twin.set("big", 9_007_199_254_740_993)
      try twin.shows("big", is: 9_007_199_254_740_993)
      try twin.same()
    },
    BackendCheck(.tree, "the hash of a snapshot is the hash of what was written", .wrongData) {
      bench in
      let twin = try await bench.twin()
      var random = SeededRandom(seed: 11)
      try await twin.set("data", random.node(depth: 4, width: 9))
      try requireEqual(
        NodeHash.hash(try twin.read(.root)), NodeHash.hash(try twin.model.tree(twin.tree).root),
        "the hash of the root")
    },
    BackendCheck(.tree, "trees never mix, and wiping one leaves the other", .phantom) { bench in
      let twin = try await bench.twin()
      let (tree, other) = (twin.tree, twin.other)
      let node: Node = ["a": ["b": 1], "c": "two"]
      for id in [tree, other] {
        try await twin.commit(
          .overwrite(id, .root, node), .pin(Pin(tree: id, path: "a")),
          .saveQuery(TrackedQuery(tree: id, path: "a")), .setMetadata(id, "name", [1, 2]),
          .setTrackedKeys(id, QueryID(rawValue: 1), ["k"]),
          .enqueue(Lane(tree: id, identity: "ada"), .set("a", 1)))
      }
      try await twin.commit(.overwrite(other, "a", .empty), .overwrite(tree, "d", 3))
      try twin.same("before the wipe")
      try await twin.wipe(0)
      try twin.same("after the wipe")
      try twin.shows(.root, is: .empty)
      try await twin.set("new", 1)
      try await twin.reopen()
      try twin.same("after writing to the new tree")
    },
    BackendCheck(.tree, "a tree's name and order are kept, and checked", .wrongData) { bench in
      let twin = try await bench.twin()
      let backend = twin.backend
      try requireEqual(try await backend.tree(named: "first"), twin.tree, "the tree of that name")
      for name in ["", String(repeating: "n", count: 257)] {
        try await expect(.invalid, "a name of \(name.utf8.count) bytes") {
          () throws(StoreError) in try await backend.tree(named: name)
        }
      }
      try await expect(.invalid, "another order for a tree") { () throws(StoreError) in
        try await backend.tree(named: "first", order: .utf8)
      }
      let names = ["caf\u{E9}", "cafe\u{301}", String(repeating: "n", count: 256), "\u{1}"]
      for name in names {
        let id = try await backend.tree(named: name, order: .utf8)
        let same = try twin.model.tree(named: name, order: .utf8, id: id)
        try requireEqual(same, id, "the number of the tree \(name)")
      }
      try await twin.reopen()
      try twin.same()
    },
    BackendCheck(.tree, "a tree in UTF-8 order gives keys and slices in that order", .wrongData) {
      bench in
      let twin = try await bench.twin()
      let id = try await twin.backend.tree(named: "documents", order: .utf8)
      _ = try twin.model.tree(named: "documents", order: .utf8, id: id)
      let keys: [Key] = ["10", "9", "a", "\u{FFFF}", "\u{1F600}", "", "-1", "Z"]
      try await twin.commit(
        .overwrite(id, .root, Node(children: keys.map { ($0, Node(.string($0.string))) })))
      let model = ModelView(twin.model)
      try twin.backend.read { (view) throws(StoreError) in
        for slice in [.first(3), .last(2), NodeSlice(from: "9", through: "a")] {
          let found = try view.node(id, .root, slice)
          if let bad = found.difference(from: try model.node(id, .root, slice)) {
            throw StoreError(.damaged, bad)
          }
        }
        let order = try view.childKeys(id, .root, after: "-1", limit: 5)
        if try order != model.childKeys(id, .root, after: "-1", limit: 5) {
          throw StoreError(.damaged, "the keys come as \(order)")
        }
      }
    },
    BackendCheck(.tree, "an equal write writes nothing", .usageDrift) { bench in
      let twin = try await bench.twin()
      var random = SeededRandom(seed: 3)
      let node = random.node(depth: 3, width: 12)
      try await twin.commit(
        .overwrite(twin.tree, "data", node),
        .overwrite(twin.tree, "big", Node(.string(String(repeating: "x", count: 80_000)))))
      let before = try twin.usage(nil)
      let size = try twin.backend.size()
      for _ in 0..<50 { try await twin.set("data", node) }
      for child in node.children { try await twin.set(Path("data/\(child.key)"), child.node) }
      try await twin.set("big", Node(.string(String(repeating: "x", count: 80_000))))
      try await twin.set("nothing/here", .empty)
      try requireEqual(try twin.usage(nil), before, "the usage after equal writes")
      let grown = try twin.backend.size().live - size.live
      try require(grown <= 64 * 1024, "50 equal writes took \(grown) bytes of the file")
      try twin.same()
    },
  ]
}

extension Twin {
  /// What the records of a tree take, or those of the whole store.
  func usage(_ tree: TreeID?) throws -> StorageUsage {
    try backend.read { (view) throws(StoreError) in try view.usage(tree) }
  }
}
