import ConiferTree
import TestSupport
import Testing

@Suite struct RangeMergeTests {
  private func merge(_ data: Node, _ start: Path?, _ end: Path?, _ node: Node) -> Node {
    RangeMerge(start: start, end: end, node: node).applied(to: data)
  }

  @Test func `Without bounds everything is replaced`() {
    #expect(merge(["a": 1, ".priority": 2], nil, nil, ["b": 2]) == ["b": 2])
    #expect(merge(["a": 1], nil, nil, .empty).isEmpty)
    #expect(merge("leaf", nil, nil, ["b": 2]) == ["b": 2])
  }

  @Test func `The start is excluded and the end included`() {
    let data: Node = ["a": 1, "b": 2, "c": 3, "d": 4]
    #expect(merge(data, "a", "c", ["b": 20, "c": 30]) == ["a": 1, "b": 20, "c": 30, "d": 4])
    #expect(merge(data, "a", "c", .empty) == ["a": 1, "d": 4])
    #expect(merge(data, "b", nil, ["z": 9]) == ["a": 1, "b": 2, "z": 9])
    #expect(merge(data, nil, "b", ["0": 9]) == ["0": 9, "c": 3, "d": 4])
  }

  @Test func `What lies below the start belongs to the range`() {
    #expect(
      merge(["a": 1, "b": 2], "a", "b", ["a": ["x": 5], "b": 6]) == ["a": ["x": 5], "b": 6])
  }

  @Test func `What lies below the end does not belong to the range`() {
    let data: Node = ["a": 1, "b": ["x": 2]]
    #expect(merge(data, nil, "b", ["a": 7]) == ["a": 7, "b": ["x": 2]])
    #expect(merge(data, nil, "b", ["b": 7]) == ["b": 7])
  }

  @Test func `A leaf at the end is deleted when the update has none`() {
    #expect(merge(["a": 1, "b": 2], "a", "b", .empty) == ["a": 1])
    #expect(merge(["a": 1, "b": 2], "a", "b", ["b": ["x": 1]]) == ["a": 1])
  }

  @Test func `Bounds may lie deep`() {
    let data: Node = ["a": ["x": 1, "y": 2, "z": 3], "b": ["x": 1, "y": 2]]
    #expect(
      merge(data, "a/x", "b/x", ["a": ["yy": 5], "b": ["x": 6]])
        == ["a": ["x": 1, "yy": 5], "b": ["x": 6, "y": 2]])
    #expect(merge(data, "a/x", "b/x", ["aa": 1]) == ["a": ["x": 1], "aa": 1, "b": ["y": 2]])
    #expect(merge(data, "a/x", "b/y", .empty) == ["a": ["x": 1]])
  }

  @Test func `Integer keys come before others`() {
    let data: Node = ["2": "b", "10": "c", "a": "d"]
    #expect(merge(data, "2", "a", ["9": "x", "a": "y"]) == ["2": "b", "9": "x", "a": "y"])
    #expect(merge(data, "10", nil, ["b": 1]) == ["2": "b", "10": "c", "b": 1])
  }

  @Test func `Priorities are replaced where their key lies in the range`() {
    let data: Node = ["1": 1, "a": 2, ".priority": "old"]
    #expect(
      merge(data, "1", nil, ["a": 3, ".priority": "new"]) == ["1": 1, "a": 3, ".priority": "new"])
    #expect(merge(data, "1", nil, ["a": 3]) == ["1": 1, "a": 3])
    #expect(merge(data, nil, "1", ["1": 5]) == ["1": 5, "a": 2, ".priority": "old"])
    #expect(merge(data, "a", nil, ["b": 5]) == ["1": 1, "a": 2, "b": 5, ".priority": "old"])
  }

  @Test func `Replacing all children in the range keeps a priority outside it`() {
    let data: Node = ["1": 1, ".priority": "old"]
    #expect(merge(data, nil, "2", ["2": 5]) == ["2": 5, ".priority": "old"])
  }

  @Test func `A leaf that the range begins at keeps its priority`() {
    let data: Node = ["a": Node(1, priority: 7), "b": 2]
    #expect(merge(data, "a", nil, ["c": 3]) == ["a": Node(1, priority: 7), "c": 3])
    #expect(merge(data, nil, "a", ["a": Node(1, priority: 8)])["a/.priority" as Path] == 8)
  }

  @Test func `Children outside the range are the same memory`() {
    let side: Node = ["x": 1]
    let data: Node = ["a": side, "m": 1, "z": side]
    let merged = merge(data, "a/x", "m", ["m": 2])
    #expect(merged["a" as Key].isIdentical(to: side))
    #expect(merged["z" as Key].isIdentical(to: side))
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `The ranges a server finds different make the client's data the server's`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<20 {
      let client = randomNode(3, &random)
      var server = client
      for _ in 0..<Int.random(in: 0..<6, using: &random) {
        var keys: [Key] = []
        for _ in 0...Int.random(in: 0..<3, using: &random) { keys.append(randomKey(&random)) }
        server = server.setting(Path(keys), to: randomNode(1, &random))
      }
      // A leaf that became an interior node kept its priority.
      server = part(server, nil, nil)
      let bounds = CompoundHash(of: client, rangeLength: 20).paths
      var merged = client
      for (start, end) in zip([nil] + bounds, bounds.map(Optional.some) + [nil]) {
        let (ours, theirs) = (part(client, start, end), part(server, start, end))
        if ours == theirs { continue }
        merged = RangeMerge(start: start, end: end, node: theirs).applied(to: merged)
      }
      #expect(merged == server, "seed \(seed)")
    }
  }

  private func randomKey(_ random: inout Seeded) -> Key {
    (["1", "02", "10", "-a", "a", "b", "c"] as [Key]).randomElement(using: &random) ?? "a"
  }

  /// Data in which leaves, but not interior nodes, have priorities: alone in a range, those of
  /// interior nodes have no form on the wire.
  private func randomNode(_ depth: Int, _ random: inout Seeded) -> Node {
    if depth == 0 || Int.random(in: 0..<4, using: &random) == 0 {
      let leaf = Leaf.integer(.random(in: 0..<9, using: &random))
      return Node(leaf, priority: Bool.random(using: &random) ? 5 : nil)
    }
    let count = Int.random(in: 0..<5, using: &random)
    return Node(
      children: (0..<count).map { _ in (randomKey(&random), randomNode(depth - 1, &random)) })
  }

  /// The leaves of a range, found one by one.
  private func part(_ node: Node, _ start: Path?, _ end: Path?) -> Node {
    var part = Node.empty
    node.forEachLeaf { keys, leaf, priority in
      let path = Path(keys)
      if start.map({ $0 < path }) ?? true, end.map({ path <= $0 }) ?? true {
        part = part.setting(path, to: Node(leaf, priority: priority))
      }
    }
    return part
  }
}
