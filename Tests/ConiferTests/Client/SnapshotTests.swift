import ConiferQuery
import ConiferSync
import ConiferTree
import TestSupport
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

  @Test
  func `children have the metadata of the whole, which does not count when snapshots are compared`()
  {
    let knowledge = ViewKnowledge.answered(at: 7, hasPendingWrites: true)
    let room = DataSnapshot(bench.root.child("rooms/r1"), KnownNode(["a": 1], knowledge))
    #expect(room.metadata.serverTime == 7)
    #expect(room.metadata.hasPendingWrites && !room.metadata.isFromCache)
    #expect(room.metadata.wasEverComplete)
    #expect(room.childSnapshot(forPath: "a/b").metadata == room.metadata)
    #expect(room.children.map(\.metadata) == [room.metadata])
    #expect(room == snapshot(["a": 1]))
    #expect(
      "\(room.metadata)"
        == "hasPendingWrites: true, isFromCache: false, wasEverComplete: true, serverTime: 7")
  }

  @Test func `of what came with an error nothing is known`() {
    let metadata = snapshot(.empty).metadata
    #expect(!metadata.hasPendingWrites && metadata.isFromCache && !metadata.wasEverComplete)
    #expect(metadata.serverTime == nil)
    #expect("\(metadata)".hasSuffix("serverTime: unknown"))
  }

  @Test func `each way to a snapshot gives it its metadata`() async throws {
    let known = ViewKnowledge.answered(at: 7, hasPendingWrites: true)
    let (ref, engine) = (bench.root.child("a"), try bench.engine)
    engine.set { ($0.node, $0.knowledge) = (1, known) }
    let found = Gathered<DataSnapshot.Metadata>()
    ref.getData { _, snapshot in found.add(snapshot.metadata) }
    ref.getData(policy: .cache) { _, snapshot in found.add(snapshot.metadata) }
    found.add(try await ref.getData().metadata)
    found.add(try await ref.getData(policy: .server(within: 1, orCache: true)).metadata)
    let handle = ref.observe(.value) { found.add($0.metadata) }
    ref.observeSingleEvent(of: .childAdded) { found.add($0.metadata) }
    let batches = ref.childEventBatches().makeAsyncIterator()
    let values = ref.snapshots.makeAsyncIterator()
    engine.raise(DataEvent(.value, ref.target, node: 1, knowledge: known))
    engine.raise(DataEvent(.childAdded, ref.target, key: "k", node: 1, knowledge: known))
    var (events, snapshots) = (batches, values)
    for event in try #require(try await events.next()) { found.add(event.snapshot.metadata) }
    found.add(try #require(try await snapshots.next()).metadata)
    found.add(
      try await ref.runTransactionBlock { .success(withValue: $0) }.snapshot.metadata)
    await bench.waitUntilIdle()
    ref.removeObserver(withHandle: handle)
    #expect(found.all == Array(repeating: DataSnapshot.Metadata(known), count: 9))
    #expect(
      engine.recorded.policies == [.default, .cache, .default, .server(within: 1, orCache: true)])
  }

  @Test func `equal data at one place is equal`() {
    #expect(snapshot(["a": 5]) == snapshot(["a": 5.0]))
    #expect(snapshot(["a": 5]) != snapshot(["a": 6]))
    #expect(snapshot(Node(5, priority: 1)) != snapshot(5))
    #expect(snapshot(5) != DataSnapshot(bench.root, 5))
  }
}
