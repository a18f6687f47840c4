import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

/// What an acknowledged write is taken for until the server has answered a listen.
@Suite struct AdoptionTests {
  private final class Known: ServerCache {
    func cached(_ target: QueryTarget) -> CachedNode {
      CachedNode(json(#"{"w2":2}"#), isComplete: false, isFiltered: true)
    }
  }

  @Test func `The answer that nothing is new is about what was hashed, not about a guess`() throws {
    let tree = SyncTree(cache: Known())
    let first = try QuerySpec.default.ordered(by: .value).limited(toFirst: 1)
    let target = QueryTarget("own", first)
    _ = try tree.listen(.app(1), to: target, kinds: .all)
    _ = tree.write(LanePosition(1), [NodeChange("own/n", json("1"))])
    let hashed = tree.sentData(of: target)
    _ = tree.acknowledge(LanePosition(1))
    #expect(tree.sentData(of: target) == hashed)
    let result = tree.complete(target)
    #expect(result.events.last?.event.node.text == #"{"w2":2}"#)
  }
}
