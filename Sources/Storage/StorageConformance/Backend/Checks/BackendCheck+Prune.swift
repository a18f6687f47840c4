internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Removing cached data by a forest; each case also with the forest moved elsewhere.
  static let prunes: [BackendCheck] =
    [
      prune("the whole root", ["": .prune], of: abc, leaves: .empty),
      prune("one child", ["x": .prune], of: ["x": abc, "y": def], leaves: ["y": def]),
      prune(
        "a nested child", ["x/y": .prune], of: ["x": ["y": abc, "z": def]],
        leaves: ["x": ["z": def]]),
      prune(
        "a nested only child takes its empty parents along", ["x/y": .prune],
        of: ["x": ["y": abc]], leaves: .empty),
      prune(
        "all but two children", ["": .prune, "b": .keep, "c": .keep], of: abc,
        leaves: ["b": 2, "c": 3]),
      prune("all but a missing child", ["": .prune, "nobody": .keep], of: abc, leaves: .empty),
      prune(
        "a document within another stays when the outer goes", ["x": .prune, "x/a": .keep],
        of: ["x": ["a": def, "b": 2]], leaves: ["x": ["a": def]]),
      prune(
        "a document within another goes when the outer stays", ["x/a": .prune],
        of: ["x": ["a": def, "b": 2, "c": 3]], leaves: ["x": ["b": 2, "c": 3]]),
      prune(
        "a document deeper within another goes", ["x/a/aa": .prune],
        of: ["x": ["a": ["aa": def, "ab": 1], "b": 2]],
        leaves: ["x": ["a": ["ab": 1], "b": 2]]),
      prune(
        "a deep keep keeps only its subtree", ["": .prune, "a/aa": .keep],
        of: ["a": ["aa": def, "ab": 1], "b": 2], leaves: ["a": ["aa": def]]),
      prune(
        "keeping one child, and one of another", ["": .prune, "a": .keep, "b/d": .keep],
        of: ["a": abc, "b": def, "c": 1], leaves: ["a": abc, "b": ["d": 4]]),
      prune(
        "a prune below a keep below a prune", ["": .prune, "x": .keep, "x/y": .prune],
        of: ["x": ["y": abc, "z": def], "w": 1], leaves: ["x": ["z": def]]),
      prune(
        "keeps alone remove nothing", ["": .keep, "x/y": .keep], of: ["x": ["y": abc], "z": 1],
        leaves: ["x": ["y": abc], "z": 1]),
      prune("no marker removes nothing", [:], of: ["x": abc], leaves: ["x": abc]),
      prune(
        "a leaf goes, and nothing goes below a leaf", ["x": .prune, "y/below": .prune],
        of: ["x": 1, "y": 2, "z": 3], leaves: ["y": 2, "z": 3]),
      prune(
        "a keep below a leaf does not keep the leaf", ["": .prune, "x/below": .keep],
        of: ["x": 1, "y": ["z": 2]], leaves: .empty),
      prune(
        "sibling keys that begin alike", ["12": .prune, "a": .prune],
        of: ["1": 1, "12": abc, "123": def, "a": abc, "ab": 2],
        leaves: ["1": 1, "123": def, "ab": 2]),
      prune(
        "priorities go and stay with their nodes", ["x": .prune, "x/a": .keep],
        of: [
          "x": ["a": Node(1, priority: "kept"), "b": Node(2, priority: "gone")],
          "y": ["z": 1, ".priority": "stays"],
        ],
        leaves: ["x": ["a": Node(1, priority: "kept")], "y": ["z": 1, ".priority": "stays"]]),
    ] + [
      BackendCheck(.prune, "huge leaves go and stay", .evictedPin) { fixture in
        let pair = try await fixture.pair()
        try await pair.set("x", ["a": .text(5_000_000), "b": 1, "c": .text(300_000)])
        try await pair.set("y", ["a": .text(300_000)])
        try await pair.commit(.prune(pair.tree, PruneForest(["x": .prune, "x/c": .keep])))
        try pair.requireNode("x", is: ["c": .text(300_000)])
        try pair.requireNode("y", is: ["a": .text(300_000)])
        try await pair.reopen()
        try pair.requireSame()
      },
      BackendCheck(.prune, "a wide tree keeps what the markers keep", .evictedPin) { fixture in
        let pair = try await fixture.pair()
        var random = SeededRandom(seed: 13)
        let rooms = Node(
          children: (0..<150).map { (Key("room\($0)"), random.node(depth: 2, width: 12)) })
        try await pair.set("rooms", rooms)
        var markers: [Path: PruneForest.Marker] = ["rooms": .prune]
        for index in stride(from: 3, to: 150, by: 11) {
          markers[Path("rooms/room\(index)")] = .keep
        }
        for child in rooms[Key("room14")].children.prefix(2) {
          markers[Path("rooms/room14/\(child.key)")] = .prune
        }
        try await pair.commit(.prune(pair.tree, PruneForest(markers)))
        try pair.requireSame()
        try await pair.commit(.prune(pair.tree, PruneForest([.root: .prune])))
        try pair.requireNode(.root, is: .empty)
        try pair.requireSame("after pruning the rest")
      },
      BackendCheck(.prune, "a prune leaves the other tree and the queue alone", .lostAcknowledged) {
        fixture in
        let pair = try await fixture.pair()
        try await pair.commit(
          .overwrite(pair.tree, "a", 1), .overwrite(pair.other, "a", 2),
          .enqueue(pair.lane, .set("a", 3)), .saveQuery(TrackedQuery(tree: pair.tree, path: "a")),
          .prune(pair.tree, PruneForest([.root: .prune])))
        try pair.requireSame()
      },
    ]

  /// Pins, alone and against a prune.
  static let pins: [BackendCheck] = [
    BackendCheck(.prune, "pins are kept, once each, and end", .evictedPin) { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let pins = [
        Pin(tree: tree, path: "b"), Pin(tree: tree, path: "a/c"), Pin(tree: tree, path: "a"),
        Pin(tree: tree, path: .root), Pin(tree: tree, path: "a", parameters: "{\"l\":2}"),
        Pin(tree: tree, path: "10"), Pin(tree: tree, path: "9"), Pin(tree: pair.other, path: "a"),
      ]
      try await pair.commit(pins.map { .pin($0) })
      try await pair.commit(pins.map { .pin($0) })
      try pair.requireSame("after pinning twice")
      try await pair.reopen()
      try pair.requireSame("after reopening")
      try await pair.commit(.unpin(pins[2]), .unpin(pins[0]), .unpin(pins[0]))
      try await pair.commit(.unpin(Pin(tree: tree, path: "nobody")))
      try pair.requireSame("after unpinning")
      try await pair.commit(pins.map { .unpin($0) })
      try pair.requireSame("after unpinning all")
      try requireEqual(try pair.usage(nil).pins, 0, "usage.pins without a pin")
    },
    BackendCheck(.prune, "pinned data survives every prune above, at and below it", .evictedPin) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let data: Node = ["a": ["b": ["c": 1, "d": ["e": 2]], "f": 3], "g": ["h": 4]]
      try await pair.commit(.pin(Pin(tree: tree, path: "a/b")))
      for path: Path in [.root, "a", "a/b", "a/b/c", "a/b/d/e"] {
        try await pair.set(.root, data)
        try await pair.commit(.prune(tree, PruneForest([path: .prune])))
        try pair.requireNode("a/b", is: ["c": 1, "d": ["e": 2]])
        try pair.requireSame("after pruning \(path)")
      }
      try await pair.set(.root, data)
      try await pair.commit(.prune(tree, PruneForest([.root: .prune, "g": .keep])))
      try pair.requireNode(.root, is: ["a": ["b": ["c": 1, "d": ["e": 2]]], "g": ["h": 4]])
      try await pair.commit(.unpin(Pin(tree: tree, path: "a/b")))
      try await pair.commit(.prune(tree, PruneForest(["a": .prune])))
      try pair.requireNode(.root, is: ["g": ["h": 4]])
    },
    BackendCheck(.prune, "a pin holds in the commit that sets it, and after reopening", .evictedPin)
    { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      try await pair.set(.root, ["a": 1, "b": 2])
      try await pair.commit(
        .pin(Pin(tree: tree, path: "a")), .prune(tree, PruneForest([.root: .prune])))
      try pair.requireNode(.root, is: ["a": 1])
      try await pair.reopen()
      try await pair.commit(.prune(tree, PruneForest([.root: .prune])))
      try pair.requireNode(.root, is: ["a": 1])
      try await pair.commit(
        .unpin(Pin(tree: tree, path: "a")), .prune(tree, PruneForest([.root: .prune])))
      try pair.requireNode(.root, is: .empty)
    },
    BackendCheck(.prune, "a pinned root keeps all; a pin protects from no write", .evictedPin) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      try await pair.set(.root, ["a": ["b": 1], "c": 2])
      try await pair.commit(.pin(Pin(tree: tree, path: .root)))
      try await pair.commit(.prune(tree, PruneForest([.root: .prune, "a": .prune])))
      try pair.requireNode(.root, is: ["a": ["b": 1], "c": 2])
      try await pair.set("a", .empty)
      try pair.requireNode(.root, is: ["c": 2])
      try pair.requireSame()
    },
    BackendCheck(.prune, "a pinned query keeps the children that it holds", .evictedPin) {
      fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let parameters = "{\"l\":2,\"vf\":\"r\"}"
      try await pair.set("list", ["a": 1, "b": ["x": 2], "c": 3, "d": 4])
      let saved = try await pair.commit(
        .saveQuery(TrackedQuery(tree: tree, path: "list", parameters: parameters)),
        .pin(Pin(tree: tree, path: "list", parameters: parameters)))
      try await pair.commit(.setTrackedKeys(tree, saved.queries[0], ["b", "d"]))
      _ = try await pair.backend.commit([.prune(tree, PruneForest([.root: .prune]))])
      let left = try pair.read("list")
      try require(
        left[Key("b")] == ["x": 2] && left[Key("d")] == 4,
        "the pinned query's children are gone: \(left)")
    },
  ]

  private static let abc: Node = ["a": 1, "b": 2, "c": 3]
  private static let def: Node = ["d": 4, "e": ["f": 5]]

  private static func prune(
    _ name: String, _ markers: [Path: PruneForest.Marker], of data: Node, leaves left: Node
  ) -> BackendCheck {
    BackendCheck(.prune, "prune: \(name)") { fixture in
      let pair = try await fixture.pair()
      for base: Path in [.root, "elsewhere", "far/10/away"] {
        try await pair.set(.root, .empty)
        try await pair.set(base, data)
        if !base.isRoot { try await pair.set("beside", "stays") }
        var moved: [Path: PruneForest.Marker] = [:]
        for (path, marker) in markers { moved[base.appending(path)] = marker }
        try await pair.commit(.prune(pair.tree, PruneForest(moved)))
        try pair.requireNode(base, is: left)
        try pair.requireSame("with the forest at \(base)")
      }
    }
  }
}
