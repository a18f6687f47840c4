import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

/// What views know of when the server spoke for them, and of the writes in them.
@Suite struct `What views know of their data` {
  /// A server's time that a test moves.
  private final class Time {
    var now: Int64 = 0
  }

  private let time = Time()
  private let times: ServerTimes
  private let tree: SyncTree

  init() {
    times = ServerTimes { [time] in time.now }
    tree = SyncTree(cache: nil, times: times)
  }

  @discardableResult
  private func listen(_ id: UInt64, _ target: QueryTarget) throws -> SyncResult {
    try tree.listen(.app(id), to: target, kinds: .all)
  }

  private func at(_ path: Path) -> QueryTarget { QueryTarget(path) }

  private func last(_ result: SyncResult) throws -> ViewKnowledge {
    try #require(result.events.last).event.knowledge
  }

  @Test func `all data makes a view current, a part of it does not`() throws {
    try listen(1, at("a"))
    time.now = 5
    #expect(try last(tree.overwrite("a/k", 1)) == ViewKnowledge())
    time.now = 6
    let whole = ViewKnowledge(isCurrent: true, wasEverComplete: true, serverTime: 6)
    #expect(try last(tree.overwrite("a", ["k": 2])) == whole)
    tree.disconnected()
    time.now = 7
    let past = ViewKnowledge(wasEverComplete: true, serverTime: 6)
    #expect(try last(tree.merge("a", [NodeChange("k", 3)])) == past)
    _ = tree.complete(at("a"))
    #expect(tree.knowledge(of: at("a")).serverTime == 7)
    #expect(tree.knowledge(of: at("a/k")).isCurrent)
  }

  @Test
  func `a part that another listen brings makes a filtered view no newer, unless it is current`()
    throws
  {
    let first = QueryTarget("a", try QuerySpec.default.limited(toFirst: 2))
    let tag = try #require(try listen(1, first).started.first?.tag)
    _ = tree.overwrite("a", ["k": 1, "l": 1], tag: tag)
    tree.disconnected()
    try listen(2, at("a/k"))
    time.now = 5
    let result = tree.overwrite("a/k", 2)
    #expect(result.events.map(\.event.knowledge.serverTime) == [5, 0, 0])
    #expect(result.events.map(\.event.knowledge.isCurrent) == [true, false, false])
    _ = tree.complete(first)
    time.now = 6
    #expect(try last(tree.overwrite("a/k", 3)).serverTime == 6)
    #expect(tree.knowledge(of: first).isCurrent)
  }

  @Test func `views below one that ends are not current until their own listens are answered`()
    throws
  {
    try listen(1, at("a"))
    _ = tree.overwrite("a", ["b": ["c": 1]])
    try listen(2, at("a/b"))
    try listen(3, at("a/b/c"))
    #expect(tree.knowledge(of: at("a/b/c")).isCurrent)
    #expect(tree.stop(.app(1)).started.map(\.target) == [at("a/b")])
    #expect(!tree.knowledge(of: at("a/b")).isCurrent && !tree.knowledge(of: at("a/b/c")).isCurrent)
    _ = tree.complete(at("a/b"))
    #expect(tree.knowledge(of: at("a/b")).isCurrent && tree.knowledge(of: at("a/b/c")).isCurrent)
  }

  @Test func `when a view closes its time is remembered, but not when it was refused`() throws {
    time.now = 5
    for (id, path) in [(1, "a"), (2, "b")] as [(UInt64, Path)] {
      try listen(id, QueryTarget(path))
      _ = tree.overwrite(path, 1)
    }
    _ = tree.stop(.app(1))
    _ = tree.cancel(at("b"))
    #expect(times.time(of: at("a"), isOwn: false) == 5)
    #expect(times.time(of: at("a/x/y"), isOwn: false) == 5)
    #expect(times.time(of: at("a/x"), isOwn: true) == nil)
    #expect(times.time(of: at("b"), isOwn: true) == nil)
  }

  @Test func `of many closed views the last ones are remembered`() {
    let most = ServerTimes.most
    for number in 0..<3 * most { times.note(QueryTarget(Path("k\(number)")), at: Int64(number)) }
    #expect(times.count <= 2 * most)
    for number in (2 * most)..<(3 * most) {
      #expect(times.time(of: QueryTarget(Path("k\(number)")), isOwn: true) == Int64(number))
    }
    times.note(at("k0"), at: 7)
    times.note(at("k0"), at: 8)
    #expect(times.time(of: at("k0"), isOwn: true) == 8)
  }

  @Test func `hidden writes and writes that were removed do not count`() throws {
    try listen(1, at("a"))
    _ = tree.overwrite("a", ["k": 1, "l": 1])
    _ = tree.write(LanePosition(1), [NodeChange("a/k", 2)], isVisible: false)
    #expect(!tree.knowledge(of: at("a")).hasPendingWrites)
    _ = tree.write(LanePosition(2), [NodeChange("a/k", 3)])
    _ = tree.write(LanePosition(3), [NodeChange("a/k", 4)], isVisible: false)
    #expect(tree.knowledge(of: at("a")).hasPendingWrites)
    #expect(!tree.knowledge(of: at("a/l")).hasPendingWrites)
    _ = tree.revert(LanePosition(2))
    #expect(!tree.knowledge(of: at("a")).hasPendingWrites)
  }

  @Test(arguments: [1, 40])
  func `of a filtered view only writes count that change what it shows`(_ count: Int) throws {
    let some = QueryTarget(
      "a", try QuerySpec.default.ordered(by: .key).starting(at: "m").limited(toFirst: 2))
    let tag = try #require(try listen(1, some).started.first?.tag)
    _ = tree.overwrite("a", ["n": 1, "o": 1], tag: tag)
    for number in 1...count {
      _ = tree.write(LanePosition(UInt64(number)), [NodeChange(Path("a/b\(number)"), 2)])
    }
    _ = tree.write(LanePosition(100), [NodeChange("a/z", 2)])
    #expect(!tree.knowledge(of: some).hasPendingWrites)
    _ = tree.write(LanePosition(101), [NodeChange("a/o", .empty)])
    #expect(tree.knowledge(of: some).hasPendingWrites)
    _ = tree.revert(LanePosition(101))
    _ = tree.write(LanePosition(102), [NodeChange("a/n/deep", 2)])
    #expect(tree.knowledge(of: some).hasPendingWrites)
  }

  @Test(arguments: [1, 40])
  func `of a filtered view over the whole node writes count that take a child out of it`(
    _ count: Int
  ) throws {
    let node: Node = ["b": 1, "n": 1, "o": 1]
    try listen(1, at("a"))
    _ = tree.overwrite("a", node)
    let some = QueryTarget("a", try QuerySpec.default.ordered(by: .key).starting(at: "m"))
    try listen(2, some)
    for number in 1...count {
      _ = tree.write(LanePosition(UInt64(number)), [NodeChange(Path("a/b\(number)"), 2)])
    }
    _ = tree.write(LanePosition(100), [NodeChange("a/b", .empty)])
    #expect(!tree.knowledge(of: some).hasPendingWrites)
    // A question without a view.
    let other = QueryTarget("a", try QuerySpec.default.ordered(by: .key).starting(at: "l"))
    #expect(!tree.knowledge(of: other).hasPendingWrites)
    _ = tree.write(LanePosition(101), [NodeChange("a/o", .empty)])
    #expect(tree.knowledge(of: some).hasPendingWrites)
    #expect(tree.knowledge(of: other).hasPendingWrites)
    _ = tree.revert(LanePosition(101))
    _ = tree.write(LanePosition(102), [NodeChange("a", node)])
    #expect(tree.knowledge(of: some).hasPendingWrites)
  }
}
