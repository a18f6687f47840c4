import ConiferQuery
import ConiferTree
import Testing

@testable import Conifer

@Suite struct `Snapshots` {
  let bench = ClientBench()

  func snapshot(_ node: Node, _ index: QueryIndex = .priority) -> DataSnapshot {
    DataSnapshot(bench.root.child("rooms/r1"), node, index)
  }

  @Test func `a snapshot of nothing says so`() {
    let none = snapshot(.empty)
    #expect(!none.exists())
    #expect(none.value == nil)
    #expect(none.valueInExportFormat() == nil)
    #expect(none.priority == nil)
    #expect(none.childrenCount == 0)
    #expect(!none.hasChildren())
    #expect(none.children.allObjects.isEmpty)
    #expect(none.key == "r1")
  }

  @Test func `false and zero and the empty text are something`() {
    for node in [false, 0, ""] as [Node] { #expect(snapshot(node).exists()) }
  }

  @Test func `key and place are those of the snapshot`() {
    let room = snapshot(["name": "Kitchen", "deep": ["er": 1]])
    #expect(room.key == "r1")
    #expect(room.ref == bench.root.child("rooms/r1"))
    #expect(DataSnapshot(bench.root, .empty).key == "")
    let child = room.childSnapshot(forPath: "/deep/er/")
    #expect(child.key == "er")
    #expect(child.ref == bench.root.child("rooms/r1/deep/er"))
    #expect(child.value as? Int == 1)
  }

  @Test func `children are found by path`() {
    let room = snapshot(["name": "Kitchen", "deep": ["er": 1]])
    #expect(room.hasChild("name"))
    #expect(room.hasChild("deep/er"))
    #expect(!room.hasChild("deep/other"))
    #expect(!room.hasChild("name/x"))
    #expect(!room.childSnapshot(forPath: "missing").exists())
    #expect(room.childSnapshot(forPath: "missing/deeper").key == "deeper")
  }

  @Test func `children come by key where there is no other order: whole numbers first`() {
    let keys = snapshot(["b": 1, "10": 1, "2": 1, "a": 1]).children.map(\.key)
    #expect(keys == ["2", "10", "a", "b"])
  }

  @Test func `children come by priority, then by key`() {
    let node: Node = [
      "a": Node(1, priority: "z"), "b": Node(1, priority: 10), "c": 1, "d": Node(1, priority: 2),
    ]
    #expect(snapshot(node).children.map(\.key) == ["c", "d", "b", "a"])
  }

  @Test func `children come in the order of the query`() {
    let node: Node = [
      "a": ["height": 3], "b": ["height": 1], "c": ["height": 2], "d": ["width": 1],
    ]
    #expect(snapshot(node, .child("height")).children.map(\.key) == ["d", "b", "c", "a"])
    #expect(snapshot(["a": 3, "b": 1, "c": 2], .value).children.map(\.key) == ["b", "c", "a"])
    #expect(snapshot(["a": 3, "b": 1, "c": 2], .key).children.map(\.key) == ["a", "b", "c"])
  }

  @Test func `children know their places and their own children`() {
    let children = snapshot(["a": ["x": 1], "b": 2]).children
    #expect(children.count == 2)
    #expect(children.first?.ref == bench.root.child("rooms/r1/a"))
    #expect(children.first?.childSnapshot(forPath: "x").value as? Int == 1)
    #expect(children.last?.value as? Int == 2)
    #expect(children.allObjects.count == 2)
  }

  @Test func `children are read one by one as by an enumerator, which copies share`() {
    let children = snapshot(["b": 1, "a": 2]).children
    let copy = children
    var keys: [String] = []
    while let child = children.nextObject() { keys.append(child.key) }
    #expect(keys == ["a", "b"])
    #expect(copy.nextObject() == nil)
    #expect(children.nextObject() == nil)
    #expect(children.allObjects.count == 2)
    #expect(snapshot("text").children.nextObject() == nil)
  }

  @Test func `priorities are numbers or texts`() {
    #expect(snapshot(Node(1, priority: 7)).priority as? Int == 7)
    #expect(snapshot(Node(1, priority: "p")).priority as? String == "p")
    #expect(snapshot(1).priority == nil)
  }

  @Test func `leaves have no children`() {
    #expect(snapshot("text").childrenCount == 0)
    #expect(!snapshot("text").hasChildren())
    #expect(!snapshot("text").hasChild("length"))
    #expect(snapshot("text").children.isEmpty)
  }

  @Test func `equal data at one place is equal`() {
    #expect(snapshot(["a": 5]) == snapshot(["a": 5.0]))
    #expect(snapshot(["a": 5]) != snapshot(["a": 6]))
    #expect(snapshot(Node(5, priority: 1)) != snapshot(5))
    #expect(snapshot(5) != DataSnapshot(bench.root, 5))
  }
}
