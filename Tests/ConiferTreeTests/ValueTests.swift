import ConiferTree
import Testing

@Suite struct ValueTests {
  @Test func `Values are ordered by type and then by value`() {
    let list: [Node] = [
      .empty, Node(.serverValue(.timestamp)), false, true, Node(.double(-.infinity)), -1, 0, 0.5, 1,
      "", "1", "a", "😀", "\u{FFFF}", ["x": 1],
    ]
    for (i, a) in list.enumerated() {
      for (j, b) in list.enumerated() {
        #expect(Node.compareValues(a, b).signum() == (i - j).signum(), "\(i) \(j)")
      }
    }
    #expect(Node.compareValues(["x": 1], ["y": 2]) == 0)
    #expect(Node.compareValues(Node(1, priority: 2), Node(1, priority: 1)) == 0)
  }

  @Test func `Numbers are equal as doubles`() {
    #expect(Leaf.integer(5) == 5.0)
    #expect(Leaf.integer(5).hashValue == Leaf.double(5).hashValue)
    #expect(Leaf.double(0) == .double(-0.0))
    #expect(Leaf.double(0).hashValue == Leaf.double(-0.0).hashValue)
    #expect(Leaf.double(.nan) == .double(.nan))
    #expect(Set<Leaf>([5, 5.0, "5", true, 1]).count == 4)
    #expect(Node(5, priority: 1) == Node(5.0, priority: Priority(.double(1))))
  }

  @Test func `Long integers are kept exactly`() {
    let leaf: Leaf = 1_542_405_709_418_655_810
    guard case .integer(let value) = Node(leaf).leaf else {
      Issue.record("not an integer")
      return
    }
    #expect(value == 1_542_405_709_418_655_810)
  }

  @Test func `Texts are equal by code units`() {
    #expect(Leaf.string("\u{E9}") != .string("e\u{301}"))
    #expect(Node("\u{E9}") != "e\u{301}")
  }

  @Test func `Priorities are strings, finite numbers and server values`() {
    #expect(Priority(Leaf.bool(true)) == nil)
    #expect(Priority(Leaf.double(.infinity)) == nil)
    #expect(Priority(Leaf.serverValue(.timestamp)) != nil)
    let list: [Priority?] = [nil, -1, 2, 10, "", "1", "a"]
    for (i, a) in list.enumerated() {
      for (j, b) in list.enumerated() {
        #expect(Priority.compare(a, b).signum() == (i - j).signum())
      }
    }
  }

  @Test func `Increments add as the server does`() {
    func add(_ base: Leaf?, _ delta: Leaf) -> Leaf {
      ServerValue.increment(delta).resolved(over: base, now: 0)
    }
    func isInteger(_ leaf: Leaf) -> Bool { if case .integer = leaf { true } else { false } }
    #expect(add(1, 2) == 3 && isInteger(add(1, 2)))
    #expect(add(.integer(.max), 1) == .double(9_223_372_036_854_775_808))
    #expect(!isInteger(add(1, 2.0)) && add(1, 2.0) == 3)
    #expect(add(nil, 2) == 2 && add("x", 2) == 2 && add(true, 2) == 2)
    #expect(isInteger(add(nil, 2)))
    #expect(add(.double(1.7e308), .double(1.7e308)) == .double(.greatestFiniteMagnitude))
    #expect(add(.double(-1.7e308), .double(-1.7e308)) == .double(-.greatestFiniteMagnitude))
  }

  @Test func `Server values are resolved wherever they are`() {
    let existing: Node = ["a": ["n": 40], ".priority": 1]
    let side: Node = ["x": 1]
    let node: Node = [
      "a": ["n": Node(.serverValue(.increment(2))), "t": Node(.serverValue(.timestamp))],
      "side": side, ".priority": Node(.serverValue(.increment(1))),
    ]
    #expect(node.hasServerValues && !existing.hasServerValues)
    let resolved = node.resolvingServerValues(over: existing, now: 99)
    #expect(resolved == ["a": ["n": 42, "t": 99], "side": side, ".priority": 2])
    #expect(resolved["side" as Key].isIdentical(to: side))
    #expect(!resolved.hasServerValues)
  }

  @Test func `Sizes are estimated as the reference does`() {
    #expect(Node.empty.estimatedSize == 4)
    #expect(Node(1).estimatedSize == 8 && Node(1.5).estimatedSize == 8)
    #expect(Node(true).estimatedSize == 4)
    #expect(Node("abc").estimatedSize == 5)
    #expect(Node("abc", priority: 1).estimatedSize == 5 + 24 + 8)
    let node: Node = ["ab": "abc", "c": ["d": true]]
    #expect(node.estimatedSize == 1 + (2 + 4 + 5) + (1 + 4 + (1 + 1 + 4 + 4)))
  }

  @Test func `A node is small`() {
    #expect(MemoryLayout<Node>.stride <= 24)
    #expect(MemoryLayout<Key>.stride <= 24)
  }
}
