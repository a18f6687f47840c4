import ConiferTree
import Testing

@testable import Conifer

@Suite struct `Data that a transaction changes` {
  func data(_ node: Node = .empty) -> MutableData { MutableData(node, at: "posts/p1") }

  @Test func `a value is read and replaced`() {
    let data = data(["stars": 1])
    var post = data.value as? [String: Any]
    #expect(post?["stars"] as? Int == 1)
    post?["stars"] = 2
    data.value = post
    #expect(data.whole == ["stars": 2])
    data.value = nil
    #expect(data.whole.isEmpty)
    #expect(data.value == nil)
  }

  @Test func `parts change the whole`() {
    let data = data(["a": ["b": 1]])
    let part = data.childData(byAppendingPath: "a/b")
    #expect(part.value as? Int == 1)
    part.value = 2
    data.child("c/d").value = "new"
    #expect(data.whole == ["a": ["b": 2], "c": ["d": "new"]])
    data.child("a").value = nil
    #expect(data.whole == ["c": ["d": "new"]])
  }

  @Test func `parts see what others changed`() {
    let data = data(["a": 1])
    let part = data.child("a")
    data.value = ["a": 5]
    #expect(part.value as? Int == 5)
  }

  @Test func `keys and parts above are known`() {
    let data = data(["a": ["b": 1]])
    #expect(data.key == "p1")
    #expect(data.parent == nil)
    #expect(data.child("a/b").key == "b")
    #expect(data.child("a/b").parent?.key == "a")
    #expect(MutableData(.empty, at: .root).key == nil)
  }

  @Test func `children are counted and listed by priority`() {
    let data = data(["a": Node(1, priority: 2), "b": Node(2, priority: 1)])
    #expect(data.childrenCount == 2)
    #expect(data.hasChildren())
    #expect(data.hasChild(atPath: "a"))
    #expect(!data.hasChild(atPath: "a/x"))
    #expect(data.children.map(\.key) == ["b", "a"])
    for child in data.children { child.value = 0 }
    #expect(data.whole == ["a": 0, "b": 0])
    let children = data.children
    while let child = children.nextObject() { child.value = 1 }
    #expect(children.nextObject() == nil)
    #expect(data.whole == ["a": 1, "b": 1])
    #expect(children.allObjects.count == 2)
  }

  @Test func `a priority is set on data that is there`() {
    let data = data(1)
    data.priority = 3
    #expect(data.priority as? Int == 3)
    #expect(data.whole == Node(1, priority: 3))
    data.priority = nil
    #expect(data.whole == 1)
    let none = self.data()
    none.priority = 3
    #expect(none.priority == nil)
    #expect(none.error == nil)
  }

  @Test func `replacing a value takes the old priority away`() {
    let data = data(Node(1, priority: 3))
    data.value = 2
    #expect(data.priority == nil)
    data.value = [".value": 4, ".priority": "p"] as [String: Any]
    #expect(data.whole == Node(4, priority: "p"))
  }

  @Test func `server values may be written`() {
    let data = data()
    data.child("at").value = Conifer.ServerValue.timestamp()
    #expect(data.whole[Key("at")].leaf == .serverValue(.timestamp))
  }

  @Test func `the first mistake is kept and changes nothing`() {
    let data = data(["a": 1])
    data.value = ["a.b": 1]
    data.child("x#").value = 1
    data.priority = true
    #expect(data.whole == ["a": 1])
    #expect(data.error?.code == .invalidPath)
  }

  @Test func `a result holds the data as it was when it was made`() {
    let data = data(["a": 1])
    let result = TransactionResult.success(withValue: data)
    data.value = 2
    #expect(result.node == ["a": 1])
    #expect(TransactionResult.abort().node == nil)
  }
}
