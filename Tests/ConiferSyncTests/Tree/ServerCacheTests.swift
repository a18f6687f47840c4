import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

/// A cache of what earlier listens left.
private final class FixedCache: ServerCache {
  var stored: [QueryTarget: CachedNode] = [:]
  var fails = false
  private(set) var asked: [QueryTarget] = []

  func cached(_ target: QueryTarget) throws(StoreError) -> CachedNode {
    asked.append(target)
    if fails { throw StoreError(.io, "The disk is gone.") }
    return stored[target] ?? .unknown
  }
}

@Suite struct `Views over a cache` {
  private let cache = FixedCache()
  private let tree: SyncTree

  init() { tree = SyncTree(cache: cache) }

  private func listen(_ id: UInt64, _ target: QueryTarget) throws -> SyncResult {
    try tree.listen(.app(id), to: target, kinds: .all)
  }

  private func told(_ result: SyncResult) -> [String] {
    result.events.map { "\($0.event.kind) \($0.event.key?.string ?? "")" }
  }

  @Test func `a write that is acknowledged before the news of it stays in a view of the cache`()
    throws
  {
    cache.stored[QueryTarget("a")] = CachedNode(["n": 1], isComplete: true, isFiltered: false)
    _ = try listen(1, QueryTarget("a"))
    _ = tree.write(LanePosition(1), [NodeChange("a/n", 2)])
    #expect(tree.acknowledge(LanePosition(1), isDataMissing: true).events.isEmpty)
    #expect(tree.value(at: "a") == ["n": 2])
    _ = tree.write(LanePosition(2), [NodeChange("a", ["m": 3])])
    #expect(tree.acknowledge(LanePosition(2), isDataMissing: true).events.isEmpty)
    #expect(tree.value(at: "a") == ["m": 3])
    #expect(
      tree.sentData(of: QueryTarget("a")) == ["n": 1], "which the server was told the hash of")
  }

  @Test
  func `a write that another client took back before the listen came is gone with the answer`()
    throws
  {
    for isComplete in [true, false] {
      let path: Path = isComplete ? "a" : "b"
      cache.stored[QueryTarget(path)] = CachedNode(
        ["n": 1, "x": 1], isComplete: isComplete, isFiltered: !isComplete)
      _ = try listen(isComplete ? 1 : 2, QueryTarget(path))
      let write = LanePosition(isComplete ? 1 : 2)
      _ = tree.write(write, [NodeChange(path.appending(Key("n")), 2)])
      _ = tree.acknowledge(write, isDataMissing: true)
      #expect(tree.value(at: path.appending(Key("n"))) == 2)
      // What the server sends before its answer counts, and the rest is what the hash was of.
      _ = tree.overwrite(path.appending(Key("x")), 3)
      #expect(tree.sentData(of: QueryTarget(path)) == ["n": 1, "x": 3])
      #expect(told(tree.complete(QueryTarget(path))) == ["childChanged n", "value "])
      #expect(tree.value(at: path) == ["n": 1, "x": 3])
    }
  }

  @Test func `an acknowledgement without its data replaces children that were known before`() throws
  {
    cache.stored[QueryTarget("a")] = CachedNode(
      ["x": 1, "y": 1], isComplete: false, isFiltered: true)
    _ = try listen(1, QueryTarget("a"))
    _ = tree.write(LanePosition(1), [NodeChange("a/x", 2)])
    #expect(tree.acknowledge(LanePosition(1), isDataMissing: true).events.isEmpty)
    #expect(tree.value(at: "a/x") == 2)
    _ = tree.write(LanePosition(2), [NodeChange("a", ["n": 1])])
    #expect(tree.acknowledge(LanePosition(2), isDataMissing: true).events.isEmpty)
    #expect(tree.value(at: "a") == ["n": 1])
  }

  @Test func `an acknowledgement without its data keeps to the limit of a filtered view`() throws {
    let target = QueryTarget("a", try QuerySpec.default.limited(toFirst: 2))
    cache.stored[target] = CachedNode(["b": 1, "c": 1], isComplete: true, isFiltered: true)
    _ = try listen(1, target)
    _ = tree.write(LanePosition(1), [NodeChange("a/a", 2)])
    #expect(tree.acknowledge(LanePosition(1), isDataMissing: true).events.isEmpty)
    #expect(tree.value(of: target) == ["a": 2, "b": 1])
    #expect(tree.sentData(of: target) == ["b": 1, "c": 1])
  }

  @Test func `ranges change the data of the view whose hash was sent`() throws {
    cache.stored[QueryTarget("a")] = CachedNode(
      ["x": 1, "y": 1], isComplete: false, isFiltered: true)
    _ = try listen(1, QueryTarget("a", QuerySpec.default.ordered(by: .value)))
    _ = tree.write(LanePosition(1), [NodeChange("a/x", 2)])
    _ = tree.acknowledge(LanePosition(1), isDataMissing: true)
    _ = try listen(2, QueryTarget("a"))
    #expect(tree.sentData(of: QueryTarget("a")) == ["x": 1, "y": 1])
    _ = tree.mergeRanges("a", [RangeMerge(start: "x", end: "y", node: ["y": 5])])
    #expect(tree.sentData(of: QueryTarget("a")) == ["x": 1, "y": 5])
  }

  @Test func `children known from another query are shown without a value`() throws {
    let four: Node = ["a": 1, "b": 2, "c": 3, "d": 4]
    for count in [2, 6] {
      let target = QueryTarget("scores", try QuerySpec.default.limited(toLast: count))
      cache.stored[target] = CachedNode(four, isComplete: false, isFiltered: true)
    }
    let two = QueryTarget("scores", try QuerySpec.default.limited(toLast: 2))
    #expect(told(try listen(1, two)) == ["childAdded c", "childAdded d"])
    let six = QueryTarget("scores", try QuerySpec.default.limited(toLast: 6))
    #expect(try listen(2, six).events.map(\.event.kind) == Array(repeating: .childAdded, count: 4))
    let answer = tree.overwrite("scores", ["0": 0, "a": 1, "b": 2, "c": 3, "d": 4, "1": 1], tag: 2)
    #expect(told(answer) == ["childAdded 0", "childAdded 1", "value "])
    #expect(answer.windowChanges.map(\.target) == [six])
    #expect(answer.windowChanges.first?.replacesAll == true)
    // The same children, known all along: nothing but that they are all.
    let confirmed = tree.overwrite("scores", ["c": 3, "d": 4], tag: 1)
    #expect(told(confirmed) == ["value "])
  }

  @Test func `complete data is shown at once, and an equal answer changes nothing`() throws {
    cache.stored[QueryTarget("a")] = CachedNode(["b": 1], isComplete: true, isFiltered: false)
    #expect(told(try listen(1, QueryTarget("a"))) == ["childAdded b", "value "])
    #expect(told(try listen(2, QueryTarget("a/b"))) == ["value "])
    #expect(cache.asked == [QueryTarget("a")])
    #expect(tree.complete(QueryTarget("a")).events.isEmpty)
    #expect(tree.sentData(of: QueryTarget("a")) == ["b": 1])
  }

  @Test func `an absent value that is complete is a value`() throws {
    cache.stored[QueryTarget("a")] = CachedNode(.empty, isComplete: true, isFiltered: false)
    #expect(told(try listen(1, QueryTarget("a"))) == ["value "])
    #expect(tree.value(at: "a")?.isEmpty == true)
  }

  @Test func `an answer without data makes what is known complete`() throws {
    let target = QueryTarget("a", try QuerySpec.default.limited(toFirst: 3))
    cache.stored[target] = CachedNode(["b": 1, "c": 2], isComplete: false, isFiltered: true)
    #expect(told(try listen(1, target)) == ["childAdded b", "childAdded c"])
    let answer = tree.complete(target)
    #expect(told(answer) == ["value "])
    #expect(answer.windowChanges.first?.added == ["b", "c"])
  }

  @Test func `a limit is refilled from complete data while offline`() throws {
    let target = QueryTarget("a", try QuerySpec.default.limited(toFirst: 2))
    let all: Node = ["a": 1, "b": 2, "c": 3]
    cache.stored[target] = CachedNode(all, isComplete: true, isFiltered: false)
    #expect(told(try listen(1, target)) == ["childAdded a", "childAdded b", "value "])
    let write = tree.write(LanePosition(1), [NodeChange("a/a", .empty)])
    #expect(told(write) == ["childRemoved a", "childAdded c", "value "])
    // What the server answers for is the window; what lies beyond may be old by then.
    #expect(tree.sentData(of: target) == ["a": 1, "b": 2])
    let answer = tree.complete(target)
    #expect(told(answer) == ["childRemoved c", "value "])
  }

  @Test func `news of the window alone end the trust in what lies beyond it`() throws {
    let target = QueryTarget("a", try QuerySpec.default.limited(toFirst: 2))
    let all: Node = ["a": 1, "b": 2, "c": 3]
    cache.stored[target] = CachedNode(all, isComplete: true, isFiltered: false)
    _ = try listen(1, target)
    let news = tree.merge("a", [NodeChange("a", .empty)], tag: 1)
    #expect(told(news) == ["childRemoved a", "value "])
    #expect(news.windowChanges.map(\.added) == [["b"]])
    #expect(told(tree.merge("a", [NodeChange("d", 4)], tag: 1)) == ["childAdded d", "value "])
  }

  @Test func `writes loaded before a view opens are shown in it`() throws {
    cache.stored[QueryTarget("a")] = CachedNode(["b": 1], isComplete: true, isFiltered: false)
    tree.load(LanePosition(7), [NodeChange("a/c", 2)])
    tree.load(LanePosition(3), [NodeChange("a", ["d": 3])])
    tree.load(LanePosition(3), [NodeChange("a", .empty)])
    #expect(told(try listen(1, QueryTarget("a"))) == ["childAdded c", "childAdded d", "value "])
    #expect(told(tree.revert(LanePosition(3))) == ["childRemoved d", "childAdded b", "value "])
  }

  @Test func `a cache that cannot be read leaves nothing behind`() throws {
    cache.fails = true
    #expect(throws: StoreError.self) { _ = try listen(1, QueryTarget("a")) }
    #expect(tree.views.isEmpty && tree.views.lastTag == 0)
    cache.fails = false
    #expect(try listen(1, QueryTarget("a")).started.count == 1)
  }
}
