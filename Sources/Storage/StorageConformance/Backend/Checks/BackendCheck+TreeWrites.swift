internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Overwrites and merges, as the Realtime Database's clients store server data.
  static let treeWrites: [BackendCheck] = [
    BackendCheck(.tree, "what was written is read back at its path, above and below", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      let room: Node = ["title": "Lobby", "members": ["ada": true, "bob": false]]
      try await pair.set("rooms/one", room)
      try pair.requireNode("rooms/one", is: room)
      try pair.requireNode(.root, is: ["rooms": ["one": room]])
      try pair.requireNode("rooms/one/members/bob", is: false)
      try pair.requireNode("rooms/one/members/bob/deeper", is: .empty)
      try pair.requireNode("rooms/two", is: .empty)
      try pair.requireSame()
    },
    BackendCheck(.tree, "a later overwrite replaces all below it and nothing beside it", .wrongData)
    { fixture in
      let pair = try await fixture.pair()
      try await pair.set("a", ["x": ["p": 1, "q": 2], "y": 3])
      try await pair.set("a/x", ["r": 4])
      try pair.requireNode("a", is: ["x": ["r": 4], "y": 3])
      try await pair.set("a/x/r/s", 5)
      try pair.requireNode("a", is: ["x": ["r": ["s": 5]], "y": 3])
      try await pair.set("a", 6)
      try pair.requireNode("a", is: 6)
      try await pair.set(.root, ["b": 7])
      try pair.requireNode(.root, is: ["b": 7])
      try pair.requireSame()
    },
    BackendCheck(.tree, "a child set after its parent merges in", .wrongData) { fixture in
      let pair = try await fixture.pair()
      try await pair.set("a", ["x": 1])
      try await pair.set("a/y", 2)
      try pair.requireNode("a", is: ["x": 1, "y": 2])
    },
    BackendCheck(.tree, "an empty overwrite deletes and drops parents without a child", .phantom) {
      fixture in
      let pair = try await fixture.pair()
      try await pair.set("a/b/c/d", 1)
      try await pair.set("a/e", 2)
      try await pair.set("a/b/c/d", .empty)
      try pair.requireNode(.root, is: ["a": ["e": 2]])
      try await pair.set("a/e", .empty)
      try pair.requireNode(.root, is: .empty)
      try pair.requireSame()
    },
    BackendCheck(.tree, "deleting below a leaf or below nothing changes nothing", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      try await pair.set("a", "leaf")
      try await pair.set("a/b/c", .empty)
      try await pair.set("x/y", .empty)
      try pair.requireNode(.root, is: ["a": "leaf"])
      try pair.requireSame()
    },
    BackendCheck(.tree, "a merge keeps the siblings of what it names", .wrongData) { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      try await pair.commit(.merge(tree, "a", [.init("x", 1), .init("y/z", 2)]))
      try pair.requireNode("a", is: ["x": 1, "y": ["z": 2]])
      try await pair.commit(.merge(tree, "a", [.init("y", 3), .init("w", ["v": 4])]))
      try pair.requireNode("a", is: ["x": 1, "y": 3, "w": ["v": 4]])
      try await pair.commit(.merge(tree, "a", [.init("x", .empty), .init("w/u", 5)]))
      try pair.requireNode("a", is: ["y": 3, "w": ["v": 4, "u": 5]])
      try await pair.set("a", ["only": true])
      try pair.requireNode("a", is: ["only": true])
      try await pair.commit(.merge(tree, .root, []))
      try pair.requireSame()
    },
    BackendCheck(.tree, "a deeper write removes the leaf values of all ancestors", .phantom) {
      fixture in
      let pair = try await fixture.pair()
      let path: Path = "lvl1/lvl2/lvl3/lvl4"
      for depth in 0...4 {
        try await pair.set(Path(Array(path.keys.prefix(depth))), Node(.integer(Int64(depth))))
        try pair.requireSame("at depth \(depth)")
      }
      try pair.requireNode(.root, is: ["lvl1": ["lvl2": ["lvl3": ["lvl4": 4]]]])
    },
    BackendCheck(.tree, "a key that begins with another is another key", .wrongData) { fixture in
      let pair = try await fixture.pair()
      for key in ["123", "1230", "12", "a", "ab", "a!", "a\u{1}"] {
        try await pair.set(Path([Key(key)]), ["x": Node(.string(key))])
      }
      try await pair.set("123", .empty)
      try await pair.set("a", ["y": 1])
      try pair.requireNode("1230/x", is: "1230")
      try pair.requireNode("ab/x", is: "ab")
      try pair.requireSame()
    },
    BackendCheck(.tree, "edits of one commit see the earlier ones", .halfBatch) { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      try await pair.commit(
        .overwrite(tree, "a", ["x": 1, "y": 2]), .overwrite(tree, "a/x", .empty),
        .merge(tree, "a", [.init("z/w", 3)]), .overwrite(tree, "a/y/deep", 4),
        .overwrite(tree, "b", 5), .overwrite(tree, "b", .empty))
      try pair.requireNode(.root, is: ["a": ["y": ["deep": 4], "z": ["w": 3]]])
      try pair.requireSame()
    },
    BackendCheck(.tree, "numbers, server values and their hashes come back exactly", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
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
      try await pair.set("values", node)
      try pair.requireNode("values", is: node)
      for (index, leaf) in leaves.enumerated() {
        try pair.requireNode(Path("values").appending(Key(index)), is: Node(leaf))
      }
      try await pair.set("hash", 2.47)
      try requireEqual(
        NodeHash.hash(try pair.read("hash")), "EsibHXKcBp2/b/bn/a0C5WffcUU=", "the hash of 2.47")
      try await pair.set("big", 9_007_199_254_740_992)
      try await pair.set("big", 9_007_199_254_740_993)
      try pair.requireNode("big", is: 9_007_199_254_740_993)
      try pair.requireSame()
    },
    BackendCheck(.tree, "the hash of a snapshot is the hash of what was written", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 11)
      try await pair.set("data", random.node(depth: 4, width: 9))
      try requireEqual(
        NodeHash.hash(try pair.read(.root)), NodeHash.hash(try pair.model.tree(pair.tree).root),
        "the hash of the root")
    },
    BackendCheck(.tree, "trees never mix, and wiping one leaves the other", .phantom) { fixture in
      let pair = try await fixture.pair()
      let (tree, other) = (pair.tree, pair.other)
      let node: Node = ["a": ["b": 1], "c": "two"]
      for id in [tree, other] {
        try await pair.commit(
          .overwrite(id, .root, node), .pin(Pin(tree: id, path: "a")),
          .saveQuery(TrackedQuery(tree: id, path: "a")), .setMetadata(id, "name", [1, 2]),
          .setTrackedKeys(id, QueryID(rawValue: 1), ["k"]),
          .enqueue(Lane(tree: id, identity: "ada"), .set("a", 1)))
      }
      try await pair.commit(.overwrite(other, "a", .empty), .overwrite(tree, "d", 3))
      try pair.requireSame("before the wipe")
      try await pair.wipe(0)
      try pair.requireSame("after the wipe")
      try pair.requireNode(.root, is: .empty)
      try await pair.set("new", 1)
      try await pair.reopen()
      try pair.requireSame("after writing to the new tree")
    },
    BackendCheck(.tree, "a tree's name and order are kept, and checked", .wrongData) { fixture in
      let pair = try await fixture.pair()
      let backend = pair.backend
      try requireEqual(try await backend.tree(named: "first"), pair.tree, "the tree of that name")
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
        let same = try pair.model.tree(named: name, order: .utf8, id: id)
        try requireEqual(same, id, "the number of the tree \(name)")
      }
      try await pair.reopen()
      try pair.requireSame()
    },
    BackendCheck(.tree, "a tree in UTF-8 order gives keys and slices in that order", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      let id = try await pair.backend.tree(named: "documents", order: .utf8)
      _ = try pair.model.tree(named: "documents", order: .utf8, id: id)
      let keys: [Key] = ["10", "9", "a", "\u{FFFF}", "\u{1F600}", "", "-1", "Z"]
      try await pair.commit(
        .overwrite(id, .root, Node(children: keys.map { ($0, Node(.string($0.string))) })))
      let model = ModelView(pair.model)
      try pair.backend.read { (view) throws(StoreError) in
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
    BackendCheck(.tree, "an equal write writes nothing", .usageDrift) { fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 3)
      let node = random.node(depth: 3, width: 12)
      try await pair.commit(
        .overwrite(pair.tree, "data", node),
        .overwrite(pair.tree, "big", Node(.string(String(repeating: "x", count: 80_000)))))
      let before = try pair.usage(nil)
      let size = try pair.backend.size()
      for _ in 0..<50 { try await pair.set("data", node) }
      for child in node.children { try await pair.set(Path("data/\(child.key)"), child.node) }
      try await pair.set("big", Node(.string(String(repeating: "x", count: 80_000))))
      try await pair.set("nothing/here", .empty)
      try requireEqual(try pair.usage(nil), before, "the usage after equal writes")
      let grown = try pair.backend.size().live - size.live
      try require(grown <= 64 * 1024, "50 equal writes took \(grown) bytes of the file")
      try pair.requireSame()
    },
  ]
}

extension ModelPair {
  /// The size of a tree's records, or of the whole store's.
  func usage(_ tree: TreeID?) throws -> StorageUsage {
    try backend.read { (view) throws(StoreError) in try view.usage(tree) }
  }
}
