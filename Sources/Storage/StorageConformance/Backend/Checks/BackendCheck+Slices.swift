internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Snapshots of a part of a node's children, each of one commit.
  static let slices: [BackendCheck] = [
    BackendCheck(.tree, "slices by range and by number are what the model cuts", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 7)
      var children: [(Key, Node)] = []
      for index in 0..<500 {
        let key = index % 3 == 0 ? Key("k\(index)") : Key(index)
        let deep = random.node(depth: 2, width: 4)
        children.append((key, index % 5 == 0 ? deep : Node(.integer(Int64(index)))))
      }
      let list = Node(children: children, priority: "own")
      try await pair.set("l", list)
      let keys = list.children.map(\.key) + ["", "0", "250x", "zz", "k", "\u{FFFF}"]
      for _ in 0..<150 {
        let slice = NodeSlice(
          from: random.chance(60) ? keys.randomElement(using: &random) : nil,
          through: random.chance(60) ? keys.randomElement(using: &random) : nil,
          limit: random.chance(60) ? Int.random(in: -1...40, using: &random) : nil,
          fromEnd: random.chance(50))
        let found = try pair.read("l", slice)
        if let bad = found.difference(from: list.cut(slice)) {
          throw ConformanceFailure("the slice \(slice) is wrong: \(bad)")
        }
      }
    },
    BackendCheck(.tree, "a slice of a leaf is the leaf, of nothing is nothing", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      try await pair.set("leaf", Node("x", priority: "p"))
      for slice in [.first(1), .last(0), NodeSlice(from: "b", through: "a")] {
        try pair.requireNode("leaf", slice, is: Node("x", priority: "p"))
        try pair.requireNode("nothing", slice, is: .empty)
      }
    },
    BackendCheck(.tree, "a slice holds its children's whole subtrees and no others", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      let wide = Node(children: (0..<400).map { (Key("f\($0)"), Node(.integer(Int64($0)))) })
      try await pair.set("r", ["a": wide, "b": wide, "c": ["x": 1], "d": 4])
      try pair.requireNode("r", .first(2), is: ["a": wide, "b": wide])
      try pair.requireNode("r", .last(2), is: ["c": ["x": 1], "d": 4])
      try pair.requireNode("r", NodeSlice(from: "b", through: "c"), is: ["b": wide, "c": ["x": 1]])
      try pair.requireNode("r", NodeSlice(from: "bb", through: "bz"), is: .empty)
    },
    BackendCheck(.tree, "child keys come in windows, without subtrees", .wrongData) { fixture in
      let pair = try await fixture.pair()
      let wide = Node(children: (0..<100).map { (Key("f\($0)"), Node(.integer(Int64($0)))) })
      let list = Node(
        children: (0..<60).map { (Key("c\($0)"), $0 % 2 == 0 ? wide : Node(true)) },
        priority: "own")
      try await pair.set("a/list", list)
      let tree = pair.tree
      for limit in [1, 7, 60, 1000] {
        let found = try pair.backend.read { (view) throws(StoreError) in
          var keys: [Key] = []
          while true {
            let some = try view.childKeys(tree, "a/list", after: keys.last, limit: limit)
            if some.isEmpty || keys.count > 100 { return keys }
            keys += some
          }
        }
        try requireEqual(found, list.children.map(\.key), "the list of child keys by \(limit)")
      }
      let edges = try pair.backend.read { (view) throws(StoreError) in
        [
          try view.childKeys(tree, "a/list", after: "c58x", limit: 1),
          try view.childKeys(tree, "a/list", after: "zzz", limit: 9),
          try view.childKeys(tree, "a/list/c1", after: nil, limit: 9),
          try view.childKeys(tree, "nowhere", after: nil, limit: 9),
          try view.childKeys(tree, "a/list", after: nil, limit: 0),
        ]
      }
      try requireEqual(edges, [["c59"], [], [], [], []], "the lists at the edges")
    },
    BackendCheck(.tree, "a view sees one commit, however many follow", .staleView) { fixture in
      let pair = try await fixture.pair()
      let list = Node(children: (0..<300).map { (Key($0), Node(.string("old \($0)"))) })
      try await pair.set("list", list)
      let (backend, tree) = (pair.backend, pair.tree)
      let snapshot = try pair.read("list")
      let writer = Task {
        for round in 0..<40 {
          let node = Node(children: (0..<30).map { (Key(round * 7 + $0), Node(.integer(1))) })
          try await backend.commit([
            .overwrite(tree, "list", node), .overwrite(tree, "count", Node(.integer(Int64(round)))),
          ])
        }
      }
      for _ in 0..<200 {
        let moment = try backend.read { (view) throws(StoreError) in
          (
            try view.node(tree, "count"), try view.node(tree, "list", .first(1)),
            try view.node(tree, "list"), try view.node(tree, "count")
          )
        }
        try require(moment.0 == moment.3, "one view saw \(moment.0) and later \(moment.3)")
        guard case .integer(let round)? = moment.0.leaf else { continue }
        let first = moment.2.firstChild?.key
        try requireEqual(first, Key(Int(round) * 7), "the first key beside round \(round)")
        try requireEqual(moment.1.firstChild?.key, first, "the first key of the slice")
        await Task.yield()
      }
      try await writer.value
      try require(snapshot.difference(from: list) == nil, "a snapshot changed after its view")
    },
    BackendCheck(.tree, "an unknown tree is invalid", .wrongError) { fixture in
      let pair = try await fixture.pair()
      let nobody = TreeID(rawValue: 4_000_000)
      try await pair.refuse("writing to an unknown tree", .overwrite(nobody, "a", 1))
      try await pair.refuse("pinning in an unknown tree", .pin(Pin(tree: nobody, path: "a")))
      try await pair.refuse(
        "queueing in an unknown tree", .enqueue(Lane(tree: nobody), .set("a", 1)))
      try await expect(.invalid, "reading an unknown tree") { () throws(StoreError) in
        try pair.backend.read { (view) throws(StoreError) in try view.node(nobody, .root) }
      }
    },
  ]
}
