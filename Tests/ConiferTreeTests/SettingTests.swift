import ConiferTree
import Testing

@Suite struct SettingTests {
  @Test func `Writing below a leaf makes it interior and keeps its priority`() {
    let leaf = Node("x", priority: 7)
    let node = leaf.setting("a/b" as Path, to: 1)
    #expect(node.priority == 7)
    #expect(node.leaf == nil)
    #expect(node["a/b" as Path].leaf == 1)
    #expect(node["a" as Path].priority == nil)
  }

  @Test func `Deleting collapses empty parents and drops their priority`() {
    let node: Node = ["a": ["b": ["c": 1, ".priority": 3]], "z": 2]
    let gone = node.setting("a/b/c" as Path, to: .empty)
    #expect(gone == ["z": 2])
    #expect(gone.setting("z" as Path, to: .empty).isEmpty)
    let prioritised: Node = ["c": 1, ".priority": "p"]
    #expect(prioritised.setting("c" as Key, to: .empty).priority == nil)
  }

  @Test func `Deleting below a leaf or below nothing changes nothing`() {
    let leaf = Node("x", priority: 7)
    #expect(leaf.setting("a/b" as Path, to: .empty) == leaf)
    #expect(Node.empty.setting("a" as Path, to: .empty).isEmpty)
    #expect(leaf.setting("a/.priority" as Path, to: 1) == leaf)
    let node: Node = ["a": 1]
    #expect(node.setting("b/c" as Path, to: .empty).isIdentical(to: node))
  }

  @Test func `The priority is a pseudo child`() {
    let node: Node = ["a": ["b": 1]]
    let set = node.setting("a/.priority" as Path, to: "p")
    #expect(set["a" as Path].priority == "p")
    #expect(set["a/.priority" as Path].leaf == "p")
    #expect(set["a" as Key].childCount == 1)
    #expect(set.setting("a/.priority" as Path, to: .empty) == node)
    #expect(set.setting("a/.priority" as Path, to: true) == set)
    #expect(set.setting("a/.priority" as Path, to: ["x": 1]) == set)
    #expect(set.setting("a/.priority/b" as Path, to: 1) == set)
    #expect(set["a/.priority/b" as Path].isEmpty)
    #expect(Node.empty.setting(".priority" as Path, to: 1).isEmpty)
    #expect(Node(5).setting(".priority" as Path, to: 1) == Node(5, priority: 1))
  }

  @Test func `A write at the root replaces everything, the priority too`() {
    let node: Node = ["a": 1, ".priority": 3]
    #expect(node.setting(.root, to: ["b": 2]) == ["b": 2])
    #expect(node.setting(.root, to: .empty).isEmpty)
  }

  @Test func `Of doubled children the last counts and empty ones are dropped`() {
    let node = Node(children: [("b", 1), ("a", 2), ("b", .empty), ("a", 3)])
    #expect(node == ["a": 3])
    #expect(Node(children: [("a", .empty)], priority: 3).isEmpty)
    #expect(Node(children: [], priority: 3) == .empty)
  }

  @Test func `An untouched sibling is the same memory`() {
    let big = Node(children: (0..<100).map { (Key($0), Node(.integer(Int64($0)))) })
    let node: Node = ["a": ["x": 1], "b": big]
    let changed = node.setting("a/x" as Path, to: 2)
    #expect(changed["b" as Key].isIdentical(to: big))
    #expect(!changed["a" as Key].isIdentical(to: node["a" as Key]))
    #expect(!big.isIdentical(to: Node(children: big.children.map { ($0.key, $0.node) })))
  }

  @Test func `Writing what is there changes nothing, but another kind of number does`() {
    let node: Node = ["a": ["x": 5]]
    #expect(node.setting("a/x" as Path, to: 5).isIdentical(to: node))
    let double = node.setting("a/x" as Path, to: 5.0)
    #expect(double == node)
    #expect(!double.isIdentical(to: node))
  }
}
