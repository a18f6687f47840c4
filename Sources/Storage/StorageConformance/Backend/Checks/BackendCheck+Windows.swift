internal import ConiferKeyValue
internal import ConiferQuery
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Queries without an index.
  static let windows: [BackendCheck] = [
    BackendCheck(.indexes, "a query gives what it would of the whole node", .wrongData) { fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 41)
      for size in [0, 1, 5, 300] {
        let children = (0..<size).map { _ in (random.sortedKey(), random.sortedChild()) }
        let node = Node(children: children, priority: size > 1 ? "own" : nil)
        try await pair.set("r/list", node)
        try await pair.set("r/plain", Node(children: children.map { ($0.0, $0.1.plain) }))
        for path in ["r/list", "r/plain", "r", "r/none"] as [Path] {
          try pair.requireAnswers(path, size < 300 ? 20 : 80, &random, "of \(size) children")
        }
      }
      try await pair.set("r/leaf", Node("x", priority: "p"))
      try pair.requireAnswers("r/leaf", 10, &random, "of a leaf")
    },
    BackendCheck(.indexes, "a window at any key, from either end", .wrongData) { fixture in
      let pair = try await fixture.pair()
      let rows = Node(
        children: (0..<2000).map { (Key("k\($0)"), ["n": Node(.integer(Int64($0)))]) })
      try await pair.commit(
        .overwrite(pair.tree, "r/a", rows), .overwrite(pair.tree, "r/b", rows),
        .overwrite(pair.tree, "r/c", rows))
      let byKey = try QuerySpec.default.ordered(by: .key)
      for key in ["", "k", "k0", "k1000", "k1999", "k5x", "z"] {
        for spec in [
          try byKey.starting(at: .string(key)), try byKey.starting(after: .string(key)),
          try byKey.ending(at: .string(key)), try byKey.ending(before: .string(key)),
        ] {
          try pair.requireAnswers("r/b", spec)
          for count in [1, 2, 50] {
            try pair.requireAnswers("r/b", try spec.limited(toFirst: count))
            try pair.requireAnswers("r/b", try spec.limited(toLast: count))
          }
        }
      }
      for key: Key in ["k7", "k1500"] {
        let spec = try QuerySpec.default.starting(at: nil, key: key)
        try pair.requireAnswers("r/b", try spec.limited(toFirst: 3))
        try pair.requireAnswers(
          "r/b", try QuerySpec.default.ending(before: nil, key: key).limited(toLast: 3))
      }
    },
    BackendCheck(.indexes, "a window of a big node reads few runs, where it is counted") {
      fixture in
      let pair = try await fixture.pair()
      let rows = Node(
        children: (0..<10_000).map {
          (Key("m\(100_000 + $0)"), ["n": Node(.integer(Int64($0))), "t": .text(40 + $0 % 7)])
        })
      try await pair.set("rooms/r1/messages", rows)
      let byKey = try QuerySpec.default.ordered(by: .key)
      for spec in [
        try byKey.limited(toLast: 50), try byKey.limited(toFirst: 50),
        try byKey.starting(at: "m105000").limited(toFirst: 50),
        try byKey.ending(before: "m105000").limited(toLast: 50),
      ] {
        let explanation = try pair.requireAnswers("rooms/r1/messages", spec)
        guard explanation.plan == .keys else { continue }
        try require(
          explanation.runsRead <= 4, "\(spec) read \(explanation.runsRead) runs for 50 children")
      }
    },
  ]
}

extension Node {
  /// The node without priorities.
  var plain: Node {
    if let leaf { return Node(leaf) }
    return Node(children: children.map { ($0.key, $0.node.plain) })
  }
}
