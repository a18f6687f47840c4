import ConiferQuery
import ConiferSync
import ConiferTree
import Foundation
import TestSupport
import Testing

@testable import Conifer

@Suite struct `Queries` {
  let bench = ClientBench()
  var scores: DatabaseReference { bench.root.child("scores") }

  @Test func `every builder narrows the spec it is called on`() throws {
    let all = QuerySpec.default
    let pairs: [(DatabaseQuery, QuerySpec)] = [
      (scores.queryOrdered(byChild: "a/b"), try all.ordered(byChild: "a/b")),
      (scores.queryOrderedByKey(), try all.ordered(by: .key)),
      (scores.queryOrderedByValue(), try all.ordered(by: .value)),
      (scores.queryOrderedByPriority(), try all.ordered(by: .priority)),
      (scores.queryLimited(toFirst: 3), try all.limited(toFirst: 3)),
      (scores.queryLimited(toLast: 4), try all.limited(toLast: 4)),
      (scores.queryStarting(atValue: 1), try all.starting(at: 1)),
      (scores.queryStarting(atValue: 1, childKey: "k"), try all.starting(at: 1, key: "k")),
      (scores.queryStarting(afterValue: 1), try all.starting(after: 1)),
      (scores.queryStarting(afterValue: 1, childKey: "k"), try all.starting(after: 1, key: "k")),
      (scores.queryEnding(atValue: "z"), try all.ending(at: "z")),
      (scores.queryEnding(atValue: "z", childKey: "k"), try all.ending(at: "z", key: "k")),
      (scores.queryEnding(beforeValue: nil), try all.ending(before: nil)),
      (scores.queryEnding(beforeValue: 2.5, childKey: "k"), try all.ending(before: 2.5, key: "k")),
      (scores.queryEqual(toValue: nil), try all.equal(to: nil)),
      (scores.queryEqual(toValue: "a", childKey: "k"), try all.equal(to: "a", key: "k")),
      (
        scores.queryOrderedByValue().queryStarting(atValue: true).queryLimited(toLast: 2),
        try all.ordered(by: .value).starting(at: true).limited(toLast: 2)
      ),
    ]
    for (query, spec) in pairs {
      #expect(query.error == nil)
      #expect(query.spec == spec)
      #expect(query.path == "scores")
      #expect(query.ref == scores)
    }
  }

  @Test func `bounds are taken in every form that values are`() throws {
    let query = scores.queryOrderedByValue()
    #expect(query.queryStarting(atValue: NSNumber(value: 3)).spec.start?.value == 3)
    #expect(query.queryStarting(atValue: NSNumber(value: true)).spec.start?.value == true)
    #expect(query.queryStarting(atValue: NSString(string: "a")).spec.start?.value == "a")
    #expect(query.queryStarting(atValue: NSNull()).spec.start?.value == nil)
    #expect(query.queryStarting(atValue: Int?.none).spec.start?.value == nil)
  }

  @Test func `mistakes make a query with an error, and nothing takes it away`() {
    let wrong: [DatabaseQuery] = [
      scores.queryOrderedByKey().queryOrderedByValue(),
      scores.queryOrderedByPriority().queryOrderedByPriority(),
      scores.queryOrdered(byChild: ""),
      scores.queryOrdered(byChild: "$key"),
      scores.queryOrdered(byChild: "a.b"),
      scores.queryLimited(toFirst: 0),
      scores.queryLimited(toLast: 1 << 31),
      scores.queryLimited(toLast: .max),
      scores.queryLimited(toFirst: 1).queryLimited(toLast: 1),
      scores.queryStarting(atValue: 1).queryStarting(afterValue: 2),
      scores.queryEnding(atValue: 1).queryEnding(beforeValue: 2),
      scores.queryEqual(toValue: 1).queryStarting(atValue: 1),
      scores.queryEqual(toValue: 1).queryEnding(atValue: 1),
      scores.queryOrderedByKey().queryStarting(atValue: 1),
      scores.queryOrderedByKey().queryStarting(atValue: nil),
      scores.queryOrderedByKey().queryEqual(toValue: "a", childKey: "b"),
      scores.queryStarting(atValue: 1).queryOrderedByKey(),
      scores.queryStarting(atValue: true),
      scores.queryStarting(atValue: ["a": 1]),
      scores.queryStarting(atValue: Date()),
      scores.queryStarting(atValue: Double.nan),
      scores.queryStarting(atValue: Conifer.ServerValue.timestamp()),
      scores.queryStarting(atValue: 1, childKey: "a.b"),
    ]
    for (index, query) in wrong.enumerated() {
      #expect(query.error?.code == .invalidQuery, "\(index)")
      #expect(query.queryOrderedByKey().queryLimited(toFirst: 2).error == query.error)
      #expect(query.ref.error != nil)
    }
  }

  @Test func `equal queries are equal`() {
    #expect(scores.queryLimited(toLast: 2) == bench.root.child("scores").queryLimited(toLast: 2))
    #expect(scores.queryLimited(toLast: 2) != scores.queryLimited(toLast: 3))
    #expect(scores.queryLimited(toLast: 2) != scores)
    #expect(scores.queryOrderedByPriority() == scores)
  }

  @Test func `observers are handed over with their kinds and their numbers`() throws {
    let query = scores.queryLimited(toLast: 2)
    let types = DataEventType.allCases
    var handles = types.map { query.observe($0) { _ in } }
    handles.append(query.observe(.childMoved, andPreviousSiblingKeyWith: { _, _ in }))
    query.observeSingleEvent(of: .value) { _ in }
    query.observeSingleEvent(of: .childAdded, andPreviousSiblingKeyWith: { _, _ in })
    let listeners = try bench.engine.recorded.listeners
    #expect(listeners.count == 8)
    #expect(listeners.map(\.isOnce) == Array(repeating: false, count: 6) + [true, true])
    #expect(listeners.allSatisfy { $0.target == query.target })
    #expect(
      listeners.prefix(5).map(\.kinds) == [
        .init(.childAdded), .init(.childRemoved), .init(.childChanged), .init(.childMoved),
        .init(.value),
      ])
    #expect(Set(handles).count == 6)
    #expect(listeners.prefix(6).map { DatabaseHandle($0.id.number) } == handles)
    #expect(handles.allSatisfy { $0 != 0 })
    query.removeObserver(withHandle: handles[2])
    #expect(try bench.engine.recorded.stopped == [.app(UInt64(handles[2]))])
    query.removeAllObservers()
    scores.removeAllObservers()
    #expect(try bench.engine.recorded.stoppedAll == [query.target, scores.target])
  }

  @Test func `handles are never given twice, whatever database gives them`() {
    let other = ClientBench()
    var handles: Set<DatabaseHandle> = []
    for _ in 0..<50 {
      handles.insert(scores.observe(.value) { _ in })
      handles.insert(other.root.observe(.value) { _ in })
    }
    #expect(handles.count == 100)
  }

  @Test func `events come as snapshots of their places`() async throws {
    let told = Gathered<String>()
    let query = scores.queryOrdered(byChild: "points")
    query.observe(
      .childAdded,
      andPreviousSiblingKeyWith: { snapshot, previous in
        told.add("\(snapshot.ref.path) \(snapshot.key) \(previous ?? "-")")
      })
    query.observe(.value) { snapshot in
      told.add("\(snapshot.ref.path) " + snapshot.children.map(\.key).joined(separator: ","))
    }
    let engine = try bench.engine
    engine.raise(DataEvent(.childAdded, query.target, key: "a", node: 1, previousKey: "z"))
    engine.raise(DataEvent(.childAdded, query.target, key: "b", node: 1))
    engine.raise(
      DataEvent(.value, query.target, node: ["a": ["points": 2], "b": ["points": 1]]))
    await bench.waitUntilIdle()
    #expect(told.all == ["/scores/a a z", "/scores/b b -", "/scores b,a"])
  }

  @Test func `a cancelled observer is told the error`() async throws {
    let told = Gathered<String>()
    scores.observe(.value, with: { _ in }, withCancel: { told.add($0.localizedDescription) })
    scores.observe(.value, with: { _ in })
    try bench.engine.cancel(DatabaseError(.permissionDenied, "Not allowed.", remedy: "Sign in."))
    await bench.waitUntilIdle()
    #expect(told.all == ["Not allowed. Sign in."])
  }

  @Test func `a read gives what the engine found, in the order of the query`() async throws {
    try bench.engine.set { $0.node = ["a": 2, "b": 1] }
    let told = Gathered<String>()
    let query = scores.queryOrderedByValue()
    query.getData { error, snapshot in
      told.add("\(error == nil) " + snapshot.children.map(\.key).joined(separator: ","))
    }
    await bench.waitUntilIdle()
    #expect(told.all == ["true b,a"])
    let snapshot = try await query.getData()
    #expect(snapshot.children.map(\.key) == ["b", "a"])
    try bench.engine.set { $0.error = DatabaseError(.disconnected, "No connection.") }
    #expect(await failure { _ = try await query.getData() }?.code == .disconnected)
  }

  @Test func `pins are handed over`() throws {
    scores.keepSynced(true)
    scores.queryLimited(toLast: 4).keepSynced(false)
    let pins = try bench.engine.recorded.pins
    #expect(pins.map(\.0) == [true, false])
    #expect(pins.map(\.1) == [scores.target, scores.queryLimited(toLast: 4).target])
  }
}
