import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

@Suite struct `Listening` {
  private let tree = SyncTree(cache: nil)

  private static func limited(_ path: Path, _ count: Int = 2) throws -> QueryTarget {
    QueryTarget(path, try QuerySpec.default.limited(toFirst: count))
  }

  @discardableResult
  private func listen(_ id: UInt64, _ target: QueryTarget, isSilent: Bool = false) throws
    -> SyncResult
  {
    try tree.listen(isSilent ? .silent(id) : .app(id), to: target, kinds: .all)
  }

  @Test func `a listen that loads all data takes the place of those it covers`() throws {
    let (first, second) = (try Self.limited("a"), try Self.limited("a/b", 3))
    #expect(try listen(1, first).started == [Listen(first, tag: 1)])
    #expect(try listen(2, second).started == [Listen(second, tag: 2)])
    #expect(try listen(3, QueryTarget("a/b/c")).started == [Listen(QueryTarget("a/b/c"), tag: nil)])
    let all = Listen(QueryTarget("a"), tag: nil)
    let covering = try listen(4, QueryTarget("a"))
    #expect(covering.started == [all])
    #expect(
      covering.stopped == [
        Listen(first, tag: 1), Listen(second, tag: 2), Listen(QueryTarget("a/b/c"), tag: nil),
      ])
    #expect(try listen(5, QueryTarget("a/x")).started.isEmpty)
    #expect(try listen(6, try Self.limited("a/x")).started.isEmpty)
    let end = tree.stop(.app(4))
    #expect(end.stopped == [all])
    #expect(
      end.started == [
        Listen(first, tag: 1), Listen(second, tag: 2), Listen(QueryTarget("a/b/c"), tag: nil),
        Listen(QueryTarget("a/x"), tag: nil),
      ])
  }

  @Test func `an order alone is listened to as the default query`() throws {
    let ordered = QueryTarget("a", try QuerySpec.default.ordered(byChild: "age"))
    #expect(try listen(1, ordered).started == [Listen(QueryTarget("a"), tag: nil)])
    #expect(try listen(2, QueryTarget("a")).started.isEmpty)
    #expect(tree.stop(.app(1)).stopped.isEmpty)
    #expect(tree.stop(.app(2)).stopped == [Listen(QueryTarget("a"), tag: nil)])
    #expect(tree.views.isEmpty)
  }

  @Test func `stopping all at a path leaves silent listeners`() throws {
    let limited = try Self.limited("a")
    try listen(1, QueryTarget("a"))
    try listen(2, QueryTarget("a"), isSilent: true)
    try listen(3, limited)
    #expect(tree.stopAll(limited).stopped.isEmpty)
    #expect(tree.stopAll(QueryTarget("a")).stopped.isEmpty)
    #expect(Array(tree.views.listeners) == [.silent(2)])
    #expect(tree.overwrite("a", 1).events.isEmpty)
    #expect(tree.value(at: "a") == 1)
    #expect(tree.stop(.silent(2)).stopped == [Listen(QueryTarget("a"), tag: nil)])
  }

  @Test func `a refused listen ends its listeners, and what it covered listens itself`() throws {
    let limited = try Self.limited("a")
    try listen(1, QueryTarget("a"))
    try listen(2, QueryTarget("a"), isSilent: true)
    try listen(3, limited)
    try listen(4, QueryTarget("a/b"))
    let (ended, result) = tree.cancel(QueryTarget("a"))
    #expect(ended == [.app(1), .silent(2)])
    #expect(result.stopped.isEmpty)
    #expect(result.started == [Listen(limited, tag: 1), Listen(QueryTarget("a/b"), tag: nil)])
    // What is not listened to any more cannot be refused.
    try listen(5, QueryTarget(.root))
    #expect(tree.cancel(limited).listeners.isEmpty)
    #expect(tree.views.listeners.count == 3)
  }

  @Test func `news with an unknown tag are ignored`() throws {
    try listen(1, try Self.limited("a"))
    #expect(tree.overwrite("a", ["b": 1], tag: 2).events.isEmpty)
    _ = tree.stop(.app(1))
    #expect(tree.overwrite("a", ["b": 1], tag: 1).events.isEmpty)
    #expect(tree.value(at: "a/b") == nil)
  }

  @Test func `late news of a covered query do not narrow what its view knows`() throws {
    try listen(1, try Self.limited("a"))
    _ = tree.overwrite("a", ["b": 1, "c": 2], tag: 1)
    try listen(2, QueryTarget("a"))
    _ = tree.overwrite("a", ["b": 1, "c": 2, "d": 3])
    #expect(tree.merge("a", [NodeChange("b", 1)], tag: 1).events.isEmpty)
    let result = tree.write(LanePosition(1), [NodeChange("a/b", .empty)])
    let first = result.events.filter { $0.listener.number == 1 }.map(\.event)
    #expect(first.map(\.kind) == [.childRemoved, .childAdded, .value])
    #expect(first.last?.node == ["c": 2, "d": 3])
  }

  @Test func `listeners are told the kinds they ask for`() throws {
    _ = try tree.listen(
      ListenerID.app(1), to: QueryTarget("a"), kinds: [.init(.childAdded), .init(.value)])
    _ = try tree.listen(
      ListenerID.app(2), to: QueryTarget("a"), kinds: .init(.childRemoved))
    let first = tree.overwrite("a", ["b": 1])
    #expect(first.events.map(\.event.kind) == [.childAdded, .value])
    let second = tree.overwrite("a/b", .empty)
    #expect(second.events.map(\.event.kind) == [.childRemoved, .value])
    #expect(second.events.map(\.listener.number) == [2, 1])
  }

  @Test func `a write that is acknowledged before the listen is answered stays shown`() throws {
    try listen(1, QueryTarget("a"))
    _ = tree.write(LanePosition(1), [NodeChange("a/b", ["x": 1])])
    _ = tree.write(LanePosition(2), [NodeChange("a/b/y", 2)])
    #expect(tree.acknowledge(LanePosition(1)).events.isEmpty)
    #expect(tree.acknowledge(LanePosition(2)).events.isEmpty)
    let answer = tree.overwrite("a", ["b": ["x": 1, "y": 2]])
    #expect(answer.events.map(\.event.kind) == [.value])

    try listen(2, QueryTarget("b"))
    _ = tree.write(LanePosition(3), [NodeChange("b", ["x": 1])])
    _ = tree.write(LanePosition(4), [NodeChange("b/y", 2)])
    #expect(tree.acknowledge(LanePosition(3)).events.isEmpty)
    #expect(tree.acknowledge(LanePosition(4)).events.isEmpty)
    #expect(tree.overwrite("b", ["x": 1, "y": 2]).events.isEmpty)
    #expect(tree.overwrite("b/y", 3).events.map(\.event.kind) == [.childChanged, .value])
  }
}
