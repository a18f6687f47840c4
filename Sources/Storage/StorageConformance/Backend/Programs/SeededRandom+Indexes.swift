internal import ConiferQuery
internal import ConiferStorage
internal import ConiferTree

/// Random children whose values are hard to sort, and random queries of them.
extension SeededRandom {
  /// The orders of children in these checks.
  static let sortings: [QueryIndex] = [.child("v"), .child("a/b"), .value, .priority]

  /// A value by which children are sorted: often equal to another one, or nearly so.
  mutating func sortedValue() -> Leaf {
    let shared = String(repeating: "long ", count: 60)
    switch Int.random(in: 0..<16, using: &self) {
    case 0...3: return .integer(Int64.random(in: -4...4, using: &self))
    case 4: return .double(Double(Int.random(in: -8...8, using: &self)) / 2)
    case 5: return .double(pick([-0.0, .infinity, -1e300, .leastNonzeroMagnitude]))
    // Integers beyond 2^53, of which some are equal as doubles.
    case 6: return .integer(9_007_199_254_740_992 + Int64.random(in: 0...3, using: &self))
    case 7: return .bool(chance(50))
    case 8: return .serverValue(chance(50) ? .timestamp : .increment(.integer(1)))
    case 9, 10: return .string(shared + pick(["", "a", "b", "\u{0}", "\u{1}", "\u{1F600}"]))
    case 11: return .string(pick(["", "\u{0}", "\u{1}", "\u{1}\u{1}", "\u{FFFF}", "\u{1F600}"]))
    default: return .string(pick(["a", "ab", "b", "é", "z", "a\u{0}", "10", "9"]))
    }
  }

  /// A key of a child; some share a long beginning.
  mutating func sortedKey() -> Key {
    let shared = String(repeating: "k", count: 230)
    switch Int.random(in: 0..<20, using: &self) {
    case 0: return Key(shared + pick(["", "a", "b", "ba"]))
    case 1...5: return Key(Int.random(in: -30...300, using: &self))
    case 6...8: return key()
    default: return Key("m\(Int.random(in: 0..<200, using: &self))")
    }
  }

  /// A child: with a value at `v` or `a/b`, a leaf, with something else there, or without either.
  mutating func sortedChild() -> Node {
    let own = chance(15) ? Priority(sortedValue()) : nil
    let (value, text) = (Node(sortedValue()), Node.text(Int.random(in: 0...90, using: &self)))
    let children: [(Key, Node)]
    switch Int.random(in: 0..<10, using: &self) {
    case 0...1: return value.settingPriority(own)
    case 2: children = [("v", node(depth: 1, width: 2)), ("z", 1)]
    case 3: children = [("a", value), ("t", text)]
    case 4: children = [("a", ["b": ["c": true]]), ("v", value)]
    default:
      let deep = Node(sortedValue(), priority: chance(9) ? 3 : nil)
      let inner: Node = ["b": deep, "x": 1]
      children = [("a", inner), ("v", value), ("t", text)]
    }
    return Node(children: children, priority: own)
  }

  /// A random valid query of a node.
  mutating func query(of node: Node) -> QuerySpec {
    let index = chance(20) ? .key : pick(Self.sortings)
    var spec = (try? QuerySpec.default.ordered(by: index)) ?? .default
    if chance(50) {
      let (value, key) = bound(index, node)
      let narrower =
        chance(60)
        ? try? spec.starting(at: value, key: key) : try? spec.starting(after: value, key: key)
      spec = narrower ?? spec
    }
    if chance(50) {
      let (value, key) = bound(index, node)
      let narrower =
        chance(60)
        ? try? spec.ending(at: value, key: key) : try? spec.ending(before: value, key: key)
      spec = narrower ?? spec
    }
    if chance(70) {
      let count = chance(80) ? Int.random(in: 1...20, using: &self) : 500
      spec =
        (chance(50) ? try? spec.limited(toFirst: count) : try? spec.limited(toLast: count)) ?? spec
    }
    return spec
  }

  /// A bound: the value of a child or a random one, with or without a key.
  private mutating func bound(_ index: QueryIndex, _ node: Node) -> (Leaf?, Key?) {
    var key: Key?
    if chance(40) {
      key = chance(70) ? node.children.randomElement(using: &self)?.key : sortedKey()
    }
    if index == .key { return (.string((key ?? sortedKey()).string), nil) }
    if chance(60), let child = node.children.randomElement(using: &self) {
      let value = index.value(of: child.key, child.node)
      // An interior node is no bound.
      if value.isEmpty || value.leaf != nil, !value.hasServerValues { return (value.leaf, key) }
    }
    return (chance(10) ? nil : sortedValue(), key)
  }
}
