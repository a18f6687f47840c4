import Synchronization

/// Where the leaves of nodes wait until somebody looks at them: the decoded bytes of a store, say.
package protocol LeafKeeper: AnyObject, Sendable {
  /// The leaves of one node in key order, all without priorities.
  ///
  /// - Parameters:
  ///   - first, end: the range that `LateLeaves` was made with.
  func leaves(_ first: Int, _ end: Int) -> ContiguousArray<Node.Child>
}

/// The leaves of a node before they are decoded, with everything that is known of the node without
/// them.
package struct LateLeaves {
  /// The node.
  package let node: Node

  /// Leaves without priorities, none of them a server value.
  ///
  /// - Parameters:
  ///   - keeper: where they wait.
  ///   - first, end: what the keeper shall be asked for.
  ///   - count: how many there are, from 1 to 32.
  ///   - size: for each 4, its key's UTF-8 bytes and its size by the estimate of
  ///     `Node.estimatedSize`, together.
  package init(_ keeper: any LeafKeeper, _ first: Int, _ end: Int, count: Int, size: Int) {
    var totals = Totals()
    totals.count = count
    totals.leaves = count
    totals.bytes = size
    totals.depth = 1
    node = Node(root: Chunk(LateBody(keeper, first, end), totals: totals), priority: nil)
  }
}

/// The leaves of one part, decoded by the first access.
final class LateBody: Sendable {
  private final class Made: Sendable {
    let body: Chunk.Body
    init(_ body: Chunk.Body) { self.body = body }
  }

  private let keeper: any LeafKeeper
  private let first: Int
  private let end: Int
  private let made = AtomicLazyReference<Made>()

  init(_ keeper: any LeafKeeper, _ first: Int, _ end: Int) {
    self.keeper = keeper
    self.first = first
    self.end = end
  }

  var body: Chunk.Body {
    if let made = made.load() { return made.body }
    return made.storeIfNil(Made(.entries(keeper.leaves(first, end)))).body
  }
}
