import Synchronization

/// Decodes the leaves of a node when they are first accessed, for example from the decoded bytes of
/// a store.
package protocol LeafDecoder: AnyObject, Sendable {
  /// The leaves of one node in key order, all without priorities.
  ///
  /// - Parameters:
  ///   - first, end: the range that `LazyLeaves` was made with.
  func leaves(_ first: Int, _ end: Int) -> ContiguousArray<Node.Child>
}

/// A node whose leaves are decoded at the first access; its totals are known before.
package struct LazyLeaves {
  /// The node.
  package let node: Node

  /// A node of leaves without priorities, none of them a server value.
  ///
  /// - Parameters:
  ///   - decoder: decodes the leaves.
  ///   - first, end: the range that is passed to it.
  ///   - count: the number of leaves, from 1 to 32.
  ///   - size: the sum over all leaves of 4, the key's UTF-8 bytes and the leaf's size as
  ///     `Node.estimatedSize` counts it.
  package init(_ decoder: any LeafDecoder, _ first: Int, _ end: Int, count: Int, size: Int) {
    var totals = Totals()
    totals.count = count
    totals.leaves = count
    totals.bytes = size
    totals.depth = 1
    node = Node(root: Chunk(LazyBody(decoder, first, end), totals: totals), priority: nil)
  }
}

/// The leaves of one part, decoded by the first access.
final class LazyBody: Sendable {
  private final class Made: Sendable {
    let body: Chunk.Body
    init(_ body: Chunk.Body) { self.body = body }
  }

  private let decoder: any LeafDecoder
  private let first: Int
  private let end: Int
  private let made = AtomicLazyReference<Made>()

  init(_ decoder: any LeafDecoder, _ first: Int, _ end: Int) {
    self.decoder = decoder
    self.first = first
    self.end = end
  }

  var body: Chunk.Body {
    if let made = made.load() { return made.body }
    return made.storeIfNil(Made(.entries(decoder.leaves(first, end)))).body
  }
}
