import TestSupport
import Testing

@testable import ConiferTree

@Suite struct ChildrenTests {
  /// A plain copy of a tree, changed the obvious way.
  private struct Model: Equatable {
    var leaf: Leaf?
    var children: [String: Model] = [:]
    var priority: Priority?
    var isEmpty: Bool { leaf == nil && children.isEmpty }

    init() {}

    init(_ node: Node) {
      leaf = node.leaf
      priority = node.priority
      for (key, child) in node.children { children[key.string] = Model(child) }
    }

    var node: Node {
      if let leaf { return Node(leaf, priority: priority) }
      return Node(children: children.map { (Key($0), $1.node) }, priority: priority)
    }

    var size: Int {
      if let leaf { return Node(leaf, priority: priority).estimatedSize }
      return isEmpty ? 4 : children.reduce(1) { $0 + $1.key.utf8.count + 4 + $1.value.size }
    }

    mutating func set(_ path: ArraySlice<String>, to new: Model) {
      guard let key = path.first else {
        self = new
        return
      }
      if key == ".priority" {
        if !isEmpty { priority = new.leaf.flatMap { Priority($0) } }
        return
      }
      var child = children[key] ?? Model()
      child.set(path.dropFirst(), to: new)
      if child.isEmpty {
        if children.removeValue(forKey: key) != nil, children.isEmpty { self = Model() }
      } else {
        leaf = nil
        children[key] = child
      }
    }
  }

  private func checkParts(_ chunk: Chunk, isRoot: Bool) -> Int {
    #expect(chunk.width <= Chunk.capacity && chunk.width >= 1)
    switch chunk.body {
    case .entries(let entries):
      #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.key < $1.key })
      #expect(chunk.totals == entries.reduce(into: Totals()) { $0.add(Totals($1)) })
      return 1
    case .chunks(let chunks):
      #expect(!isRoot || chunks.count > 1)
      #expect(zip(chunks, chunks.dropFirst()).allSatisfy { $0.firstKey < $1.firstKey })
      #expect(chunk.totals == chunks.reduce(into: Totals()) { $0.add($1.totals) })
      #expect(chunk.firstKeys.elementsEqual(chunks.map(\.firstKey)))
      let heights = Set(chunks.map { checkParts($0, isRoot: false) })
      #expect(heights.count == 1)
      return (heights.first ?? 0) + 1
    }
  }

  @Test(arguments: 0..<24 as Range<UInt64>)
  func `Random programs of writes do what a dictionary does`(seed: UInt64) {
    var random = Seeded(seed)
    let names = ["a", "b", "c", "1", "02", "10", "-x", "é", "e\u{301}x"]
    var (node, model) = (Node.empty, Model())
    for step in 0..<300 {
      var keys: [String] = []
      for _ in 0..<Int.random(in: 0..<5, using: &random) {
        keys.append(names.randomElement(using: &random) ?? "a")
      }
      let new: Node
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<3: new = .empty
      case 3..<5:
        keys.append(".priority")
        new = Bool.random(using: &random) ? Node(.string("p\(step)")) : .empty
      case 5..<7: new = ["a": ["b": Node(.integer(Int64(step)))], "1": true, ".priority": 4]
      default: new = Node(.integer(Int64(step)), priority: Bool.random(using: &random) ? 9 : nil)
      }
      node = node.setting(Path(keys.map { Key($0) }), to: new)
      model.set(keys[...], to: Model(new))
      #expect(Model(node) == model, "seed \(seed) step \(step)")
      #expect(node == model.node && node.estimatedSize == model.size, "seed \(seed) step \(step)")
      if step % 20 == 0 {
        #expect(NodeHash.hash(node) == NodeHash.hash(model.node), "seed \(seed)")
      }
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `Many children stay sorted, counted and balanced`(seed: UInt64) throws {
    var random = Seeded(seed)
    var node = Node.empty
    var model: [Int: Node] = [:]
    let range = 0..<3000
    for step in 0..<9_000 as Range<Int64> {
      let growing = (step / 3000) % 2 == 0
      let key = Int.random(in: range, using: &random)
      if Int.random(in: 0..<10, using: &random) < (growing ? 8 : 1) {
        let rare = Int.random(in: 0..<40, using: &random)
        var new = Node(.integer(step), priority: rare == 0 ? 1 : nil)
        if rare == 1 { new = ["deep": new] }
        if rare == 2 { new = Node(.serverValue(.timestamp)) }
        node = node.setting(Key("k\(key)"), to: new)
        model[key] = new
      } else {
        node = node.setting(Key("k\(key)"), to: .empty)
        model[key] = nil
      }
      guard step % 3000 == 2999 else { continue }
      let root = try #require(node.interior?.root, "seed \(seed)")
      _ = checkParts(root, isRoot: true)
      let expected = model.map { (Key("k\($0)"), $1) }.sorted { $0.0 < $1.0 }
      #expect(node.children.map(\.key) == expected.map(\.0), "seed \(seed)")
      #expect(node.children.map(\.node) == expected.map(\.1), "seed \(seed)")
      #expect(node.childCount == model.count && node.leafCount == model.count, "seed \(seed)")
      #expect(node == Node(children: expected))
    }
    for key in range { node = node.setting(Key("k\(key)"), to: .empty) }
    #expect(node.isEmpty, "seed \(seed)")
  }

  @Test func `A hundred thousand children are found and changed`() throws {
    let count = 100_000
    let node = Node(sortedChildren: (0..<count).map { (Key($0), Node(.integer(Int64($0)))) })
    #expect(node.childCount == count && node.leafCount == count)
    var copy = node
    for i in stride(from: 0, to: count, by: 97) {
      #expect(node[Key(i)].leaf == .integer(Int64(i)))
      copy = copy.setting(Key(i), to: "new")
    }
    #expect(node[Key(97)].leaf == 97 && copy[Key(97)].leaf == "new" && copy[Key(98)].leaf == 98)
    #expect(node[Key(count)].isEmpty)
    #expect(copy != node)
    var appended = Node.empty
    for child in node.children.prefix(20_000) {
      appended = appended.setting(child.key, to: child.node)
    }
    #expect(appended.children.elementsEqual(node.children.prefix(20_000), by: ==))
    let root = try #require(appended.interior?.root)
    #expect(checkParts(root, isRoot: true) <= 4)
  }

  @Test(arguments: [0, 1, 20, 1_000, 5_000])
  func `The changes between two versions are found`(count: Int) {
    var random = Seeded(UInt64(count))
    let old = Node(children: (0..<count).map { (Key($0 * 2), Node(.integer(Int64($0)))) })
    for amount in [0, 1, 3, 50, 3_000] {
      var new = old
      for _ in 0..<amount {
        let value: Node = Bool.random(using: &random) ? .empty : "new"
        new = new.setting(Key(Int.random(in: 0...count * 2, using: &random)), to: value)
      }
      let keys = Set(old.children.map(\.key)).union(new.children.map(\.key))
      let expected = keys.filter { old[$0] != new[$0] }.sorted()
      let found = Array(new.changes(since: old))
      #expect(found.map(\.key) == expected, "\(count) \(amount)")
      #expect(found.allSatisfy { old[$0.key] == $0.old && new[$0.key] == $0.new })
      #expect((old == new) == expected.isEmpty)
    }
    #expect(Array(old.changes(since: .empty)).count == count)
    #expect(Array(Node(1).changes(since: old)).count == count)
  }

  @Test func `Equality looks below children that are not shared`() {
    let a: Node = ["a": ["x": 1], "b": 2]
    #expect(a == ["a": ["x": 1.0], "b": 2])
    #expect(a != ["a": ["x": 2], "b": 2] && a != ["a": 1, "b": ["x": 2]])
    #expect(a != ["a": ["x": 1, ".priority": 1], "b": 2] && a != ["a": ["x": 1], "c": 2])
    #expect(a != ["a": ["y": 1], "b": 2] && a != .empty && a != 1)
  }

  @Test func `Children are reached by position, key and range`() {
    let node = Node(children: (0..<500).map { (Key($0 * 2), Node(.integer(Int64($0)))) })
    let children = node.children
    #expect(children.count == 500 && children[250].key == "500")
    #expect(children.index(of: "500") == 250 && children.index(of: "501") == nil)
    #expect(children[10..<13].map(\.key) == ["20", "22", "24"])
    #expect(children[10..<13].index(of: "26") == nil)
    #expect(children.reversed().map(\.key) == children.map(\.key).reversed())
    #expect(node.children(from: "3", through: "8").map(\.key) == ["4", "6", "8"])
    #expect(node.children(from: "4", through: "7").map(\.key) == ["4", "6"])
    #expect(node.children(from: "8", through: "3").isEmpty)
    #expect(node.children(from: nil, through: "2").map(\.key) == ["0", "2"])
    #expect(node.children(from: "997").map(\.key) == ["998"])
    #expect(node.firstChild?.key == "0" && node.lastChild?.key == "998")
    #expect(node.child(before: "5")?.key == "4" && node.child(before: "4")?.key == "2")
    #expect(node.child(after: "4")?.key == "6" && node.child(after: "5")?.key == "6")
    #expect(node.child(before: "0") == nil && node.child(after: "998") == nil)
    #expect(node.child(after: "-1")?.key == "0" && node.child(before: "zzz")?.key == "998")
    #expect(Node(1).children.isEmpty && Node.empty.firstChild == nil)
  }

  @Test func `Leaves are walked in path order`() {
    let node: Node = ["b": 1, "10": ["y": Node(2, priority: 3), "x": 4], "9": true]
    var paths: [Path] = []
    node.forEachLeaf { keys, leaf, priority in
      paths.append(Path(keys))
      #expect(node[Path(keys)].leaf == leaf && node[Path(keys)].priority == priority)
    }
    #expect(paths == ["9", "10/x", "10/y", "b"])
    struct Stop: Error {}
    var visited = 0
    #expect(throws: Stop.self) {
      try node.forEachLeaf { _, _, _ throws(Stop) in
        visited += 1
        throw Stop()
      }
    }
    #expect(visited == 1)
  }
}
