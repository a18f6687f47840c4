import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

@Suite struct `Questions to the sync tree` {
  private let tree = SyncTree(cache: nil)

  private func listen(_ path: Path) throws {
    _ = try tree.listen(
      ListenerID.app(UInt64(tree.views.listeners.count + 1)), to: QueryTarget(path),
      kinds: .all)
  }

  @Test func `increments add to what is known at their own paths`() throws {
    try listen("a/n")
    _ = tree.overwrite("a/n", 5)
    let node = try Node(
      json: #"{"n":{".sv":{"increment":2}},"m":{".sv":{"increment":3}},"t":{".sv":"timestamp"}}"#)
    let resolved = tree.resolve(node, at: "a", now: 1000)
    #expect(resolved == ["n": 7, "m": 3, "t": 1000])
    _ = tree.write(LanePosition(1), [NodeChange("a", resolved)])
    #expect(tree.resolve(node, at: "a", now: 2000) == ["n": 9, "m": 6, "t": 2000])
    // Also over a hidden write, which the server will see before.
    _ = tree.write(
      LanePosition(1, 1), [NodeChange("a/n", 100)], isVisible: false)
    #expect(tree.resolve(node, at: "a", now: 0)[Key("n")] == 102)
  }

  @Test func `a priority can be asked for and resolved`() throws {
    try listen("a")
    _ = tree.overwrite("a", Node(.string("v"), priority: 3))
    #expect(tree.value(at: "a/.priority") == 3)
    let increment = try Node(json: #"{".sv":{"increment":4}}"#)
    #expect(tree.resolve(increment, at: "a/.priority", now: 0) == 7)
    _ = tree.write(LanePosition(1), [NodeChange("a/.priority", 9)])
    #expect(tree.value(at: "a/.priority") == 9)
    #expect(tree.value(at: "b/.priority") == nil)
  }

  @Test func `a value is known from a write alone`() throws {
    #expect(tree.value(at: "a") == nil)
    _ = tree.write(LanePosition(1), [NodeChange("a/b", 1)])
    #expect(tree.value(at: "a") == nil)
    #expect(tree.value(at: "a/b") == 1)
    #expect(tree.value(at: "a/b/c")?.isEmpty == true)
    #expect(tree.value(at: "a/b", OverlayFilter { $0 == LanePosition(1) }) == nil)
    #expect(tree.value(at: "a/b", OverlayFilter(end: LanePosition(1))) == nil)
    #expect(tree.value(at: "a/b", OverlayFilter(end: LanePosition(1, 1))) == 1)
    #expect(!tree.hasWholeView(covering: "a/b"))
    try listen("a")
    #expect(
      tree.hasWholeView(covering: "a/b") && tree.hasWholeView(covering: "a")
        && !tree.hasWholeView(covering: .root))
  }

  @Test func `what a query shows is known of its own view, or of the whole node`() throws {
    let target = QueryTarget("a", try QuerySpec.default.limited(toFirst: 1))
    #expect(tree.value(of: target) == nil)
    _ = try tree.listen(.app(9), to: target, kinds: .all)
    #expect(tree.value(of: target) == nil)
    _ = tree.overwrite("a", ["c": 2], tag: 1)
    _ = tree.write(LanePosition(1), [NodeChange("a/b", 1)])
    #expect(tree.value(of: target) == ["b": 1])
    #expect(tree.value(of: QueryTarget("a")) == nil)
    _ = tree.stop(.app(9))
    #expect(tree.value(of: target) == nil)
    _ = tree.write(LanePosition(2), [NodeChange("a", ["x": 1, "y": 2])])
    #expect(tree.value(of: target) == ["x": 1])
  }

  @Test func `ranges are merged into the data of the listen that they answer`() throws {
    try listen("a")
    _ = tree.overwrite("a", ["b": 1, "c": 2, "d": 3])
    let merge = RangeMerge(start: "b", end: "c", node: ["c": 5])
    #expect(tree.mergeRanges("b", [merge]).events.isEmpty)
    let result = tree.mergeRanges("a", [merge])
    #expect(result.events.map(\.event.kind) == [.childChanged, .value])
    #expect(tree.value(at: "a") == ["b": 1, "c": 5, "d": 3])
    #expect(tree.mergeRanges("a", [merge], tag: 9).events.isEmpty)
  }
}
