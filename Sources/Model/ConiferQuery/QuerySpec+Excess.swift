public import ConiferTree

extension QuerySpec {
  /// The children of a node that the limit leaves out, whatever the range is.
  ///
  /// Costs nothing while the limit is kept; in the order of keys it finds them in logarithmic time,
  /// otherwise it looks at every child.
  /// - Parameter node: the node, all of whose children are in range.
  public func excess(in node: Node) -> [Key] {
    guard let limit, node.childCount > limit.count else { return [] }
    if isByKey(node) {
      let children = node.children
      let excess = children.count - limit.count
      return (limit.side == .first ? children.suffix(excess) : children.prefix(excess)).map(\.key)
    }
    let kept = Set(evaluate(node).map(\.key))
    return node.children.map(\.key).filter { !kept.contains($0) }
  }

  /// Whether the order of a node's children is the order of their keys.
  func isByKey(_ node: Node) -> Bool {
    index == .key || (index == .priority && !node.hasChildPriorities)
  }
}
