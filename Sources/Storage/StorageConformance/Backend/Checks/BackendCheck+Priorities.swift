internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Priorities of leaves and of interior nodes.
  static let priorities: [BackendCheck] = [
    BackendCheck(.tree, "priorities of leaves and interior nodes are kept", .wrongData) { bench in
      let twin = try await bench.twin()
      let node: Node = [
        "leaf": Node(.integer(99), priority: "abc"), "number": Node(.bool(true), priority: 42),
        "fraction": Node("x", priority: Priority(.double(3.14))),
        "later": Node("y", priority: Priority(.serverValue(.timestamp))),
        "inner": ["a": 1, "b": Node("c", priority: ""), ".priority": "def"], ".priority": "root",
      ]
      try await twin.set("x", node)
      try twin.shows("x", is: node)
      try twin.shows("x/inner", is: node[Path("inner")])
      try twin.shows("x/inner/b", is: node[Path("inner/b")])
      try await twin.set(
        .root, ["root": ["c": Node(99, priority: "abc"), ".priority": "def"]])
      try requireEqual(
        NodeHash.hash(try twin.read(.root)), "Fm6tzN4CVEu5WxFDZUdTtqbTVaA=",
        "the hash of a tree with priorities")
      try twin.same()
    },
    BackendCheck(.tree, "a priority is set and removed alone", .wrongData) { bench in
      let twin = try await bench.twin()
      try await twin.set(.root, ["leaf": 1, "inner": ["a": 1]])
      for path: Path in ["leaf/.priority", "inner/.priority", ".priority", "inner/a/.priority"] {
        try await twin.set(path, "first")
        try await twin.set(path, 2)
        try twin.same("after setting \(path)")
      }
      try twin.shows("inner", is: ["a": Node(1, priority: 2), ".priority": 2])
      try await twin.set("inner/.priority", .empty)
      try await twin.set("leaf/.priority", .empty)
      try twin.shows(
        .root,
        is: ["leaf": 1, "inner": ["a": Node(1, priority: 2)], ".priority": 2])
      for node: Node in [true, ["a": 1]] {
        try await twin.refuse(
          "\(node.summary) as priority", .overwrite(twin.tree, "leaf/.priority", node))
      }
      try await twin.set("nobody/.priority", "lost")
      try twin.shows("nobody", is: .empty)
      try await twin.commit(.merge(twin.tree, "inner", [.init("a/.priority", 7), .init("b", 2)]))
      try twin.shows("inner/a", is: Node(1, priority: 7))
      try twin.same()
    },
    BackendCheck(.tree, "an overwrite replaces or removes the old priority", .wrongData) { bench in
      let twin = try await bench.twin()
      try await twin.set("a", ["x": Node(1, priority: 1), ".priority": 1])
      try await twin.set("a", ["x": 1])
      try twin.shows("a", is: ["x": 1])
      try await twin.set("a", ["x": 1, ".priority": 3])
      try await twin.set("a/x", Node(1, priority: 4))
      try twin.shows("a", is: ["x": Node(1, priority: 4), ".priority": 3])
      try twin.same()
    },
    BackendCheck(.tree, "a priority goes with the node's last child", .phantom) { bench in
      let twin = try await bench.twin()
      try await twin.set("a/b", ["x": 1, "y": 2, ".priority": "p"])
      try await twin.set("a/.priority", "q")
      try await twin.set("a/b/x", .empty)
      try twin.shows("a/b", is: ["y": 2, ".priority": "p"])
      try await twin.set("a/b/y", .empty)
      try twin.shows(.root, is: .empty)
      try await twin.set("a/b/z", 3)
      try twin.shows(.root, is: ["a": ["b": ["z": 3]]])
      try twin.same()
    },
    BackendCheck(.tree, "a leaf that becomes interior keeps its priority, and back", .wrongData) {
      bench in
      let twin = try await bench.twin()
      try await twin.set("a", Node("leaf", priority: "p"))
      try await twin.set("a/b/c", 1)
      try twin.shows("a", is: ["b": ["c": 1], ".priority": "p"])
      try await twin.set("a", Node("leaf", priority: "q"))
      try twin.shows("a", is: Node("leaf", priority: "q"))
      try await twin.set("a", "leaf")
      try twin.shows("a", is: "leaf")
      try twin.same()
    },
  ]
}
