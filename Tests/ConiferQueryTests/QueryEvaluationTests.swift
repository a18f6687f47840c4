import ConiferQuery
import ConiferTree
import TestSupport
import Testing

@Suite struct `Evaluating queries` {
  let all = QuerySpec.default

  static func keys(_ spec: QuerySpec, _ node: Node) -> [String] {
    spec.evaluate(node).map(\.key.string)
  }

  let dinosaurs: Node = [
    "allosaurus": ["height": 4, "order": "saurischia", "extinct": true],
    "brachiosaurus": ["height": 13.5, "order": "saurischia"],
    "lambeosaurus": ["height": 2.1, "order": "ornithischia", "extinct": false],
    "pterodactyl": ["height": 0.6],
    "stegosaurus": ["height": 4, "order": "ornithischia"],
    "triceratops": ["height": "tall", "order": ["nested": 1]],
  ]

  @Test func `children are ordered by a child, ties by key`() throws {
    let byHeight = try all.ordered(byChild: "height")
    #expect(
      Self.keys(byHeight, dinosaurs) == [
        "pterodactyl", "lambeosaurus", "allosaurus", "stegosaurus", "brachiosaurus", "triceratops",
      ])
    // Absent sorts first, then strings, and a map last.
    #expect(
      Self.keys(try all.ordered(byChild: "order"), dinosaurs) == [
        "pterodactyl", "lambeosaurus", "stegosaurus", "allosaurus", "brachiosaurus", "triceratops",
      ])
    #expect(
      Self.keys(try all.ordered(byChild: "order/nested"), dinosaurs).last == "triceratops")
  }

  @Test func `ranges and limits by a child`() throws {
    let byHeight = try all.ordered(byChild: "height")
    func keys(_ build: (QuerySpec) throws -> QuerySpec) throws -> [String] {
      Self.keys(try build(byHeight), dinosaurs)
    }
    #expect(try keys { try $0.limited(toLast: 2) } == ["brachiosaurus", "triceratops"])
    #expect(try keys { try $0.limited(toFirst: 2) } == ["pterodactyl", "lambeosaurus"])
    #expect(
      try keys { try $0.starting(at: 4) } == [
        "allosaurus", "stegosaurus", "brachiosaurus", "triceratops",
      ])
    #expect(try keys { try $0.starting(at: 4).limited(toLast: 1) } == ["triceratops"])
    #expect(try keys { try $0.ending(at: 4).limited(toLast: 1) } == ["stegosaurus"])
    #expect(try keys { try $0.starting(after: 4) } == ["brachiosaurus", "triceratops"])
    #expect(
      try keys { try $0.starting(after: 4, key: "allosaurus") } == [
        "stegosaurus", "brachiosaurus", "triceratops",
      ])
    #expect(
      try keys { try $0.starting(at: 4, key: "b") } == [
        "stegosaurus", "brachiosaurus", "triceratops",
      ])
    #expect(try keys { try $0.ending(before: 4) } == ["pterodactyl", "lambeosaurus"])
    #expect(
      try keys { try $0.ending(before: 4, key: "stegosaurus") } == [
        "pterodactyl", "lambeosaurus", "allosaurus",
      ])
    #expect(
      try keys { try $0.ending(at: 4, key: "allosaurus") } == [
        "pterodactyl", "lambeosaurus", "allosaurus",
      ])
    #expect(try keys { try $0.equal(to: 4.0) } == ["allosaurus", "stegosaurus"])
    #expect(try keys { try $0.equal(to: 4, key: "stegosaurus") } == ["stegosaurus"])
    #expect(try keys { try $0.equal(to: 4, key: "t") } == [])
    #expect(try keys { try $0.starting(at: 5).ending(at: 3) } == [])
  }

  @Test func `null and boolean bounds`() throws {
    let byExtinct = try all.ordered(byChild: "extinct")
    let absent = ["brachiosaurus", "pterodactyl", "stegosaurus", "triceratops"]
    #expect(Self.keys(try byExtinct.equal(to: nil), dinosaurs) == absent)
    #expect(Self.keys(try byExtinct.ending(at: nil), dinosaurs) == absent)
    #expect(Self.keys(try byExtinct.ending(before: nil), dinosaurs) == [])
    #expect(Self.keys(try byExtinct.starting(at: nil), dinosaurs).count == 6)
    #expect(
      Self.keys(try byExtinct.starting(after: nil), dinosaurs) == ["lambeosaurus", "allosaurus"])
    #expect(Self.keys(try byExtinct.equal(to: true), dinosaurs) == ["allosaurus"])
    #expect(Self.keys(try byExtinct.ending(at: false), dinosaurs) == absent + ["lambeosaurus"])
  }

  @Test func `by key, integers come first and bounds are keys`() throws {
    let node: Node = ["b": 1, "10": 1, "2": 1, "a": 1, "-1": 1, "c": 1]
    let byKey = try all.ordered(by: .key)
    #expect(Self.keys(byKey, node) == ["-1", "2", "10", "a", "b", "c"])
    #expect(Self.keys(try byKey.starting(at: "3"), node) == ["10", "a", "b", "c"])
    #expect(Self.keys(try byKey.starting(after: "10").ending(before: "c"), node) == ["a", "b"])
    #expect(Self.keys(try byKey.starting(at: "10").ending(at: "b"), node) == ["10", "a", "b"])
    #expect(Self.keys(try byKey.ending(at: "b").limited(toLast: 2), node) == ["a", "b"])
    #expect(Self.keys(try byKey.starting(after: "2").limited(toFirst: 2), node) == ["10", "a"])
    #expect(Self.keys(try byKey.equal(to: "a"), node) == ["a"])
    #expect(Self.keys(try byKey.equal(to: "zz"), node) == [])
    #expect(Self.keys(try byKey.starting(after: "c").ending(before: "a"), node) == [])
  }

  @Test func `by value and by priority`() throws {
    let node: Node = [
      "a": Node(3, priority: "x"), "b": Node("s", priority: 2), "c": true, "d": ["k": 1],
      "e": Node(-1, priority: 10), "f": 3.0,
    ]
    #expect(Self.keys(try all.ordered(by: .value), node) == ["c", "e", "a", "f", "b", "d"])
    #expect(Self.keys(all, node) == ["c", "d", "f", "b", "e", "a"])
    #expect(Self.keys(try all.starting(at: 3), node) == ["e", "a"])
    #expect(Self.keys(try all.equal(to: nil), node) == ["c", "d", "f"])
    #expect(Self.keys(try all.ordered(by: .value).equal(to: 3), node) == ["a", "f"])
  }

  @Test func `a filtered node has no priority of its own, and a leaf filters to nothing`() throws {
    let node: Node = [".priority": 5, "a": 1, "b": 2, "c": 3]
    let last = try all.limited(toLast: 2)
    #expect(last.filtered(node) == ["b": 2, "c": 3])
    #expect(try all.ordered(by: .key).limited(toFirst: 1).filtered(node) == ["a": 1])
    #expect(try all.ordered(by: .value).filtered(node) == node)
    #expect(last.filtered(Node(5)).isEmpty)
    #expect(last.evaluate(Node(5)).isEmpty)
    #expect(last.filtered(.empty).isEmpty)
    #expect(QuerySpec.default.filtered(Node(5)) == 5)
  }

  @Test func `random queries agree with filtering and sorting everything`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<3000 {
      let node = RandomQueries.node(using: &random)
      let spec = try RandomQueries.spec(using: &random)
      let sorted = node.children.sorted { spec.index.compare($0, $1) < 0 }
      var expected = sorted.filter { RandomQueries.contains(spec, $0) }
      if let limit = spec.limit {
        expected =
          limit.side == .first
          ? Array(expected.prefix(limit.count)) : Array(expected.suffix(limit.count))
      }
      let result = spec.evaluate(node)
      #expect(result.map(\.key) == expected.map(\.key), "\(spec), seed \(seed)")
      #expect(result.map(\.node) == expected.map(\.node), "\(spec), seed \(seed)")
      #expect(
        spec.filtered(node)
          == (spec.loadsAllData ? node : Node(children: expected.map { ($0.key, $0.node) })),
        "\(spec), seed \(seed)")
      for child in node.children {
        #expect(
          spec.contains(child.key, child.node) == RandomQueries.contains(spec, child),
          "\(spec), seed \(seed)")
      }
      for (place, child) in sorted.enumerated() {
        let before = spec.predecessor(of: child.key, in: node)
        #expect(before?.key == (place > 0 ? sorted[place - 1].key : nil), "\(spec), seed \(seed)")
      }
      #expect(try QuerySpec(json: spec.json) == spec, "\(spec), seed \(seed)")
      #expect(try QuerySpec(node: spec.node) == spec, "\(spec), seed \(seed)")
    }
  }
}

/// Random nodes and queries from few values, so that ties and hits are common.
enum RandomQueries {
  static let keys: [Key] = ["a", "b", "c", "0", "1", "01", "10", "é", "e\u{301}", "z"]
  static let values: [Leaf?] = [nil, true, false, 0, 1, 1.0, 2.5, "", "a", "é"]

  static func pick<T>(_ all: [T], _ random: inout Seeded) -> T {
    all[Int.random(in: 0..<all.count, using: &random)]
  }

  static func leaf(using random: inout Seeded) -> Node {
    pick(values, &random).map { leaf in
      Node(leaf, priority: pick(values, &random).flatMap { Priority($0) })
    } ?? .empty
  }

  static func node(using random: inout Seeded) -> Node {
    var children: [(Key, Node)] = []
    let plain = Bool.random(using: &random)
    for key in keys where Bool.random(using: &random) {
      var child = leaf(using: &random)
      if Bool.random(using: &random) {
        let inner: [(Key, Node)] = [("z", leaf(using: &random))]
        let members: [(Key, Node)] = [("x", leaf(using: &random)), ("y", Node(children: inner))]
        let priority = pick(values, &random).flatMap { Priority($0) }
        child = Node(children: members, priority: priority)
      }
      children.append((key, plain ? child.settingPriority(nil) : child))
    }
    return Node(children: children, priority: Priority(1))
  }

  static func spec(using random: inout Seeded) throws -> QuerySpec {
    let index = pick([QueryIndex.priority, .key, .value, .child("x"), .child("y/z")], &random)
    var spec = try QuerySpec.default.ordered(by: index)
    func bound() -> (Leaf?, Key?) {
      let key = pick(keys, &random)
      if index == .key { return (.string(key.string), nil) }
      var value = pick(values, &random)
      if index == .priority, case .bool? = value { value = nil }
      return (value, Bool.random(using: &random) ? key : nil)
    }
    let (start, startKey) = bound()
    let (end, endKey) = bound()
    switch Int.random(in: 0...3, using: &random) {
    case 0: spec = try spec.starting(at: start, key: startKey)
    case 1: spec = try spec.starting(after: start, key: startKey)
    default: break
    }
    switch Int.random(in: 0...3, using: &random) {
    case 0: spec = try spec.ending(at: end, key: endKey)
    case 1: spec = try spec.ending(before: end, key: endKey)
    default: break
    }
    if spec.loadsAllData, Bool.random(using: &random) {
      spec = try spec.equal(to: start, key: startKey)
    }
    let count = Int.random(in: 1...6, using: &random)
    switch Int.random(in: 0...2, using: &random) {
    case 0: spec = try spec.limited(toFirst: count)
    case 1: spec = try spec.limited(toLast: count)
    default: break
    }
    return spec
  }

  /// The rule of the reference spelled out: (value, key) pairs against posts, where a missing key is
  /// the smallest or the largest one.
  static func contains(_ spec: QuerySpec, _ child: Node.Child) -> Bool {
    func order(_ bound: QuerySpec.Bound, missingKeyIsLargest: Bool) -> Int {
      if spec.index == .key {
        guard case .string(let text)? = bound.value else { return 0 }
        return Key.compare(child.key, Key(text))
      }
      let value = spec.index.value(of: child.key, child.node)
      let order = Node.compareValues(value, bound.value.map { Node($0) } ?? .empty)
      if order != 0 { return order }
      guard let key = bound.key else { return missingKeyIsLargest ? -1 : 1 }
      return Key.compare(child.key, key)
    }
    if let start = spec.start {
      let order = order(start, missingKeyIsLargest: !start.inclusive)
      if order < 0 || (order == 0 && !start.inclusive) { return false }
    }
    if let end = spec.end {
      let order = order(end, missingKeyIsLargest: end.inclusive)
      if order > 0 || (order == 0 && !end.inclusive) { return false }
    }
    return true
  }
}
