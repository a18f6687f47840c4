public import ConiferTree

/// A selection of a node's children by a range of keys and a limit; only the runs that hold them
/// are read.
///
/// A leaf has no children: every slice of it is the leaf itself. A slice of a node with
/// children has the node's own priority, and is empty when it holds none of them.
public struct NodeSlice: Hashable, Sendable {
  /// The first key that belongs to the slice, or nil for no bound.
  public var lower: Key?
  /// The last key that belongs to the slice, or nil for no bound.
  public var upper: Key?
  /// The most children that the slice holds, or nil for all within the bounds.
  public var limit: Int?
  /// Whether a limit keeps the last children rather than the first.
  public var fromEnd: Bool

  /// A slice between two keys, both included, cut to a number of children.
  ///
  /// - Parameters:
  ///   - lower: the first key that belongs to it.
  ///   - upper: the last key that belongs to it.
  ///   - limit: the most children; 0 or less gives none.
  ///   - fromEnd: whether the limit keeps the last ones.
  public init(
    from lower: Key? = nil, through upper: Key? = nil, limit: Int? = nil, fromEnd: Bool = false
  ) {
    self.lower = lower
    self.upper = upper
    self.limit = limit
    self.fromEnd = fromEnd
  }

  /// The whole subtree.
  public static let all = NodeSlice()

  /// The first children, in the tree's key order.
  public static func first(_ count: Int) -> NodeSlice { NodeSlice(limit: count) }

  /// The last children, in the tree's key order.
  public static func last(_ count: Int) -> NodeSlice { NodeSlice(limit: count, fromEnd: true) }
}
