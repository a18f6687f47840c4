import ConiferQuery
import ConiferTree

/// The result of a filtered query, updated as data changes. Most changes of one child do not read
/// the others.
struct QueryWindow: Sendable {
  let spec: QuerySpec
  /// The result: the children within range and limit.
  private(set) var result: Node

  init(_ spec: QuerySpec, of node: Node) {
    self.spec = spec
    result = spec.filtered(node)
  }

  /// Evaluates the query on new data.
  mutating func replaceAll(with node: Node) { result = spec.filtered(node) }

  /// Updates the result after changes of some children.
  ///
  /// - Parameters:
  ///   - keys: the children that may have changed.
  ///   - node: all data after the changes.
  mutating func update(_ keys: some Sequence<Key>, of node: Node) {
    for key in keys {
      // A new evaluation includes the changes of the other keys.
      if !update(key, to: node[key]) { return replaceAll(with: node) }
    }
  }

  /// Replaces a child if the new result can be determined without the other children; otherwise
  /// returns false.
  private mutating func update(_ key: Key, to child: Node) -> Bool {
    let belongs = spec.contains(key, child)
    let wasIn = !result[key].isEmpty
    guard let limit = spec.limit, result.childCount >= limit.count else {
      // All children within the range are in the result.
      if belongs || wasIn { result = result.setting(key, to: belongs ? child : .empty) }
      return true
    }
    guard belongs else { return !wasIn }
    let others = wasIn ? result.setting(key, to: .empty) : result
    guard let edge = edge(of: others, limit.side) else { return false }
    let order = spec.index.compare((key: key, node: child), edge)
    let isInside = limit.side == .first ? order < 0 : order > 0
    // A child that moved to the edge may now be behind a child outside of the result.
    if wasIn && !isInside { return false }
    guard isInside else { return true }
    let kept = wasIn ? others : others.setting(edge.key, to: .empty)
    result = kept.setting(key, to: child)
    return true
  }

  /// The child at the edge of the limit, which would be removed first.
  private func edge(of node: Node, _ side: QuerySpec.Side) -> Node.Child? {
    if spec.index == .key { return side == .first ? node.lastChild : node.firstChild }
    return node.children.max { a, b in
      let order = spec.index.compare(a, b)
      return side == .first ? order < 0 : order > 0
    }
  }
}
