internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Keys and paths that storage must take, whatever a client refuses.
  static let keys: [BackendCheck] = [
    BackendCheck(.tree, "siblings come in the Realtime Database's key order", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      let keys = [
        "-2147483648", "-1", "-0", "0", "00", "1", "01", "001", "2", "10", "2147483647",
        "-2147483649", "-2147483650", "-a", "2147483648", "21474836480", "2147483649", "a",
        "a\u{0}", "aa", "\u{E9}", "e\u{301}", "\u{D7FF}", "\u{1F600}", "\u{10FFFF}", "\u{E000}",
        "\u{FFFD}", "\u{FFFF}",
      ].map { Key($0) }
      var shuffled = keys
      var random = SeededRandom(seed: 5)
      shuffled.shuffle(using: &random)
      for key in shuffled { try await pair.set(Path(["x", key]), Node(.string(key.string))) }
      try pair.requireSame()
      let tree = pair.tree
      let found = try pair.backend.read { (view) throws(StoreError) in
        try view.childKeys(tree, "x", after: nil, limit: 100)
      }
      try requireEqual(found, keys.sorted(), "the list of child keys")
      for key in keys {
        try pair.requireNode(Path(["x", key]), is: Node(.string(key.string)))
        try pair.requireNode(
          "x", NodeSlice(from: key, through: key), is: [key: .init(.string(key.string))])
      }
    },
    BackendCheck(.tree, "keys of control characters, zeros and spaces are kept apart", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      let keys = [
        "\u{0}", "\u{0}\u{0}", "\u{1}", "\u{0}\u{1}", "\u{1}\u{0}", "\u{7F}", " ", "  ", "\n", "\t",
        "\u{FF}", "\u{80}", ".", "..", "/", "a/b", "#", "$", "[", "]", ".value", "\u{FEFF}",
        "\u{2028}",
      ].map { Key($0) }
      for (index, key) in keys.enumerated() {
        try await pair.set(Path([key]), Node(.integer(Int64(index))))
      }
      try pair.requireSame("with leaves")
      for (index, key) in keys.enumerated().reversed() {
        try await pair.set(Path([key, "\u{0}", key]), Node(.integer(Int64(index))))
      }
      try pair.requireSame("with children")
      for key in keys.prefix(12) { try await pair.set(Path([key]), .empty) }
      try await pair.reopen()
      try pair.requireSame("after deleting half")
    },
    BackendCheck(.tree, "integer-like keys that look alike stay distinct", .wrongData) { fixture in
      let pair = try await fixture.pair()
      let keys: [Key] = ["1", "01", "001", "0", "00", "-0", "-00", "-1", "-01", "+1", "1.0", "1e0"]
      for key in keys { try await pair.set(Path(["n", key, "v"]), Node(.string(key.string))) }
      try await pair.set("n/01", .empty)
      try await pair.set("n/-0", .empty)
      try pair.requireNode("n/1/v", is: "1")
      try pair.requireNode("n/0/v", is: "0")
      try requireEqual(try pair.read("n").childCount, keys.count - 2, "the number of children")
      try pair.requireSame()
    },
    BackendCheck(.tree, "10,000 siblings under a path of 700 bytes", .wrongData) { fixture in
      let pair = try await fixture.pair()
      let parts = (0..<7).map { Key("\($0)" + String(repeating: "k", count: 98)) }
      let path = Path(parts)
      let node = Node(
        children: (0..<10_000).map { (Key("sibling\($0)"), Node(.integer(Int64($0)))) })
      try await pair.set(path, node)
      try await pair.set(path.appending(Key("sibling5000")), "changed")
      try await pair.set(path.appending(Key("sibling77")), .empty)
      try await pair.set(path.appending(Path("sibling9999/deep")), 1)
      try pair.requireNode(path.appending(Key("sibling5001")), is: 5001)
      try pair.requireNode(path.appending(Key("sibling5000")), is: "changed")
      try await pair.reopen()
      try pair.requireSame()
      try await pair.set(path, .empty)
      try pair.requireNode(.root, is: .empty)
    },
    BackendCheck(.tree, "siblings whose names of 760 bytes differ at the end", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      let stem = String(repeating: "s", count: 756)
      let keys = (0..<300).map { Key(stem + "\(1000 + $0)") }
      try await pair.set("w", Node(children: keys.map { ($0, Node(.string($0.string))) }))
      for key in keys[100..<150] { try await pair.set(Path(["w", key]), .empty) }
      for key in keys[200..<210] { try await pair.set(Path(["w", key, "deep"]), 1) }
      try pair.requireNode("w", .last(1), is: [keys[299]: Node(.string(keys[299].string))])
      try await pair.reopen()
      try pair.requireSame()
    },
    BackendCheck(.tree, "100,000 children of one node", .wrongData) { fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      let count = 100_000
      let node = Node(
        sortedChildren: (0..<count).map { (key: Key($0), node: Node(.integer(Int64($0 * 7)))) })
      try await pair.set("list", node)
      try await pair.set("list/50000", .empty)
      try pair.requireNode("list/99999", is: 699_993)
      try pair.requireNode("list", .first(2), is: ["0": 0, "1": 7])
      try pair.requireNode(
        "list", NodeSlice(from: "49999", limit: 2), is: ["49999": 349_993, "50001": 350_007])
      try pair.requireSame()
      try await pair.set("list", .empty)
      try pair.requireNode(.root, is: .empty)
    },
    BackendCheck(.tree, "paths of 32 and of 200 levels", .wrongData) { fixture in
      let pair = try await fixture.pair()
      for depth in [32, 33, 200] {
        let path = Path((0..<depth).map { Key("\($0 % 10)") })
        try await pair.set(path, Node(.integer(Int64(depth))))
        try pair.requireNode(path, is: Node(.integer(Int64(depth))))
        try await pair.set(Path([Key("wide\(depth)")]).appending(path), "x")
        try pair.requireSame("at depth \(depth)")
      }
      try await pair.set(Path((0..<32).map { Key("\($0 % 10)") }), .empty)
      try await pair.reopen()
      try pair.requireSame()
    },
  ]
}
