internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Priorities of leaves and of interior nodes.
  static let priorities: [BackendCheck] = [
    BackendCheck(.tree, "priorities of leaves and interior nodes are kept", .wrongData) { fixture in
      let pair = try await fixture.pair()
      let node: Node = [
        "leaf": Node(.integer(99), priority: "abc"), "number": Node(.bool(true), priority: 42),
        "fraction": Node("x", priority: Priority(.double(3.14))),
        "later": Node("y", priority: Priority(.serverValue(.timestamp))),
        "inner": ["a": 1, "b": Node("c", priority: ""), ".priority": "def"], ".priority": "root",
      ]
      try await pair.set("x", node)
      try pair.requireNode("x", is: node)
      try pair.requireNode("x/inner", is: node[Path("inner")])
      try pair.requireNode("x/inner/b", is: node[Path("inner/b")])
      try await pair.set(
        .root, ["root": ["c": Node(99, priority: "abc"), ".priority": "def"]])
      try requireEqual(
        NodeHash.hash(try pair.read(.root)), "Fm6tzN4CVEu5WxFDZUdTtqbTVaA=",
        "the hash of a tree with priorities")
      try pair.requireSame()
    },
    BackendCheck(.tree, "a priority is set and removed alone", .wrongData) { fixture in
      let pair = try await fixture.pair()
      try await pair.set(.root, ["leaf": 1, "inner": ["a": 1]])
      for path: Path in ["leaf/.priority", "inner/.priority", ".priority", "inner/a/.priority"] {
        try await pair.set(path, "first")
        try await pair.set(path, 2)
        try pair.requireSame("after setting \(path)")
      }
      try pair.requireNode("inner", is: ["a": Node(1, priority: 2), ".priority": 2])
      try await pair.set("inner/.priority", .empty)
      try await pair.set("leaf/.priority", .empty)
      try pair.requireNode(
        .root,
        is: ["leaf": 1, "inner": ["a": Node(1, priority: 2)], ".priority": 2])
      for node: Node in [true, ["a": 1]] {
        try await pair.refuse(
          "\(node.summary) as priority", .overwrite(pair.tree, "leaf/.priority", node))
      }
      try await pair.set("nobody/.priority", "lost")
      try pair.requireNode("nobody", is: .empty)
      try await pair.commit(.merge(pair.tree, "inner", [.init("a/.priority", 7), .init("b", 2)]))
      try pair.requireNode("inner/a", is: Node(1, priority: 7))
      try pair.requireSame()
    },
    BackendCheck(.tree, "an overwrite replaces or removes the old priority", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      try await pair.set("a", ["x": Node(1, priority: 1), ".priority": 1])
      try await pair.set("a", ["x": 1])
      try pair.requireNode("a", is: ["x": 1])
      try await pair.set("a", ["x": 1, ".priority": 3])
      try await pair.set("a/x", Node(1, priority: 4))
      try pair.requireNode("a", is: ["x": Node(1, priority: 4), ".priority": 3])
      try pair.requireSame()
    },
    BackendCheck(.tree, "a priority goes with the node's last child", .phantom) { fixture in
      let pair = try await fixture.pair()
      try await pair.set("a/b", ["x": 1, "y": 2, ".priority": "p"])
      try await pair.set("a/.priority", "q")
      try await pair.set("a/b/x", .empty)
      try pair.requireNode("a/b", is: ["y": 2, ".priority": "p"])
      try await pair.set("a/b/y", .empty)
      try pair.requireNode(.root, is: .empty)
      try await pair.set("a/b/z", 3)
      try pair.requireNode(.root, is: ["a": ["b": ["z": 3]]])
      try pair.requireSame()
    },
    BackendCheck(.tree, "a leaf that becomes interior keeps its priority, and back", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      try await pair.set("a", Node("leaf", priority: "p"))
      try await pair.set("a/b/c", 1)
      try pair.requireNode("a", is: ["b": ["c": 1], ".priority": "p"])
      try await pair.set("a", Node("leaf", priority: "q"))
      try pair.requireNode("a", is: Node("leaf", priority: "q"))
      try await pair.set("a", "leaf")
      try pair.requireNode("a", is: "leaf")
      try pair.requireSame()
    },
  ]
}
