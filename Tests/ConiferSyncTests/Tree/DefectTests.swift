import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

/// Faults of earlier clients, listed in the notes on their behaviour, that this one must not have.
@Suite struct `Defects of earlier clients` {
  private let tree = SyncTree(cache: nil)

  @discardableResult
  private func listen(_ id: UInt64, _ target: QueryTarget) throws -> SyncResult {
    try tree.listen(.app(id), to: target, kinds: .all)
  }

  private func told(_ result: SyncResult) -> [String] {
    result.events.map {
      "\($0.event.kind) \($0.event.key?.string ?? "") \($0.event.previousKey?.string ?? "-")"
    }
  }

  @Test func `6: the result of a query is never taken for the whole node`() throws {
    let target = QueryTarget("list", try QuerySpec.default.limited(toFirst: 1))
    try listen(1, target)
    _ = tree.overwrite("list", ["a": ["x": 1]], tag: 1)
    #expect(tree.value(at: "list") == nil)
    #expect(tree.value(at: "list/b") == nil)
    #expect(tree.value(at: "list/a") == ["x": 1])
    #expect(told(try listen(2, QueryTarget("list"))) == [])
    #expect(told(try listen(3, QueryTarget("list/a"))) == ["childAdded x -", "value  -"])
    #expect(told(try listen(4, QueryTarget("list/b"))) == [])
  }

  @Test func `8: what is stored of a query leaves out local writes`() throws {
    let target = QueryTarget("list", try QuerySpec.default.limited(toFirst: 2))
    try listen(1, target)
    let write = tree.write(LanePosition(1), [NodeChange("list/a", 0)])
    #expect(told(write) == ["childAdded a -"])
    #expect(write.windowChanges.isEmpty)
    let first = tree.overwrite("list", ["b": 1, "c": 2], tag: 1)
    #expect(first.windowChanges.map(\.added) == [["b", "c"]])
    #expect(first.windowChanges.map(\.replacesAll) == [true])
    #expect(tree.sentData(of: target) == ["b": 1, "c": 2])
    // What falls out of the window is told, so that it is not kept for ever.
    let second = tree.merge("list", [NodeChange("a", 0)], tag: 1)
    #expect(second.windowChanges.map(\.added) == [["a"]])
    #expect(second.windowChanges.map(\.removed) == [["c"]])
    #expect(second.windowChanges.map(\.replacesAll) == [false])
    #expect(tree.acknowledge(LanePosition(1)).windowChanges.isEmpty)
    #expect(tree.overwrite("list/b", 5, tag: 1).windowChanges.isEmpty)
  }

  @Test func `8: what fell out of a window is not shown again`() throws {
    try listen(1, QueryTarget("list", try QuerySpec.default.limited(toFirst: 2)))
    _ = tree.overwrite("list", ["a": 1, "c": 3], tag: 1)
    _ = tree.merge("list", [NodeChange("b", 2)], tag: 1)
    // The server may have changed the child since.
    let result = tree.write(LanePosition(1), [NodeChange("list/a", .empty)])
    #expect(told(result) == ["childRemoved a -", "value  -"])
  }

  @Test func `10: a priority before all keys is hashed, so that listens resume`() throws {
    let node = try Node(json: #"{"-push":1,"0":2,".priority":"p"}"#)
    let hash = CompoundHash(of: node)
    #expect(hash != CompoundHash(of: node.settingPriority("q")))
    #expect(hash != CompoundHash(of: node.settingPriority(nil)))
  }

  @Test func `11: children that all have priorities are hashed in the order of those`() throws {
    let all = try Node(
      json: #"{"a":{".value":1,".priority":2},"b":{".value":2,".priority":1}}"#)
    let swapped = try Node(
      json: #"{"a":{".value":1,".priority":1},"b":{".value":2,".priority":2}}"#)
    #expect(NodeHash.hash(all) != NodeHash.hash(swapped))
    try listen(1, QueryTarget("list"))
    let result = tree.overwrite("list", all)
    #expect(told(result) == ["childAdded b -", "childAdded a b", "value  -"])
  }

  @Test func `12: a hidden write stays hidden when a write that overlaps it ends`() throws {
    try listen(1, QueryTarget("a"))
    _ = tree.overwrite("a", ["n": 1])
    _ = tree.write(LanePosition(1), [NodeChange("a", ["n": 2])])
    let hidden = tree.write(
      LanePosition(1, 1), [NodeChange("a/n", 50)], isVisible: false)
    #expect(hidden.events.isEmpty)
    _ = tree.write(LanePosition(2), [NodeChange("a/m", 3)])
    #expect(tree.value(at: "a") == ["n": 2, "m": 3])
    #expect(tree.value(at: "a", OverlayFilter(includesHidden: true)) == ["n": 50, "m": 3])
    #expect(
      tree.value(at: "a", OverlayFilter(includesHidden: true) { $0 == LanePosition(1, 1) })
        == ["n": 2, "m": 3])
    _ = tree.overwrite("a/n", 2)
    #expect(tree.acknowledge(LanePosition(1)).events.isEmpty)
    #expect(tree.value(at: "a") == ["n": 2, "m": 3])
    #expect(tree.revert(LanePosition(2)).events.map(\.event.kind) == [.childRemoved, .value])
    #expect(tree.value(at: "a/n", OverlayFilter(includesHidden: true)) == 50)
    #expect(tree.revert(LanePosition(1, 1)).events.isEmpty)
    #expect(tree.value(at: "a/n", OverlayFilter(includesHidden: true)) == 2)
  }

  @Test func `12: a limit is refilled past several children that are gone`() throws {
    let target = QueryTarget("list", try QuerySpec.default.limited(toFirst: 2))
    try listen(1, QueryTarget("list"))
    try listen(2, target)
    _ = tree.overwrite("list", ["a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6])
    let result = tree.write(
      LanePosition(1), ["a", "b", "c", "d"].map { NodeChange(Path("list/\($0)"), .empty) })
    let window = result.events.filter { $0.listener.number == 2 }.map(\.event)
    #expect(window.map(\.kind) == [.childRemoved, .childRemoved, .childAdded, .childAdded, .value])
    #expect(window.last?.node == ["e": 5, "f": 6])
  }

  @Test func `20: pending writes are loaded again, ordered by number, at the root too`() throws {
    for number in [10, 2, 9] as [UInt64] {
      tree.load(
        LanePosition(number), [NodeChange(.root, ["n": Node(.integer(Int64(number)))])])
    }
    #expect(told(try listen(1, QueryTarget(.root))) == ["childAdded n -", "value  -"])
    #expect(tree.value(at: "n") == 10)
    _ = tree.revert(LanePosition(10))
    #expect(tree.value(at: "n") == 9)
    _ = tree.revertAll()
    #expect(tree.value(at: "n") == nil)
    #expect(tree.overlay.count == 0)
  }

  @Test func `the queue's writes are taken back without those of transactions`() throws {
    try listen(1, QueryTarget("list"))
    _ = tree.overwrite("list", ["a": 0, "b": 0, "c": 0])
    _ = tree.write(LanePosition(1), [NodeChange("list/a", 1), NodeChange("list/b", 1)])
    _ = tree.write(LanePosition(1, 1), [NodeChange("list/b", 2)])
    _ = tree.write(LanePosition(2), [NodeChange("list/c", 3)])
    let result = tree.revertQueued()
    #expect(tree.value(at: "list") == ["a": 0, "b": 2, "c": 0])
    #expect(result.events.last?.event.node == ["a": 0, "b": 2, "c": 0])
    #expect(!result.events.contains { $0.event.key == "b" } && tree.overlay.count == 1)
  }

  @Test func `21: keys are told apart by their bytes`() throws {
    try listen(1, QueryTarget("a"))
    _ = tree.overwrite("a", .empty)
    let (composed, decomposed) = (Key("\u{E9}"), Key("e\u{301}"))
    _ = tree.write(
      LanePosition(1), [NodeChange(Path(["a", composed]), 1)])
    _ = tree.write(
      LanePosition(2), [NodeChange(Path(["a", decomposed]), 2)])
    #expect(tree.value(at: Path(["a", composed])) == 1)
    #expect(tree.value(at: Path(["a", decomposed])) == 2)
    let result = tree.revert(LanePosition(1))
    #expect(result.events.map(\.event.key) == [composed, nil])
    #expect(tree.value(at: "a")?.childCount == 1)
  }

  @Test func `a write below a leaf, deleted again, leaves nothing of the leaf`() throws {
    try listen(1, QueryTarget("a"))
    _ = tree.overwrite("a", "leaf")
    _ = tree.write(LanePosition(1), [NodeChange("a/b", 1)])
    _ = tree.write(LanePosition(2), [NodeChange("a/b", .empty)])
    #expect(tree.value(at: "a")?.isEmpty == true)
    _ = tree.revert(LanePosition(1))
    #expect(tree.value(at: "a") == "leaf")
    #expect(tree.view(of: QueryTarget("a"))?.shown.node == "leaf")
  }
}
