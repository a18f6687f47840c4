/// Sums over a map of children, kept with it so that reading them costs nothing.
struct Totals: Sendable, Equatable {
  /// Children of this node.
  var count = 0
  /// Leaves at any depth.
  var leaves = 0
  /// Keys and values, by the reference's size estimate.
  var bytes = 0
  /// Levels of keys below.
  var depth: Int32 = 0
  /// Whether a child of this node has a priority.
  var hasPriorities = false
  /// Whether a value or a priority at any depth is a server value.
  var hasServerValues = false

  /// The sums over no child.
  init() {}

  /// The sums over one child.
  init(_ child: Node.Child) {
    let node = child.node
    count = 1
    leaves = node.leafCount
    bytes = child.key.utf8Count + 4 + node.estimatedSize
    depth = Int32(truncatingIfNeeded: node.depth) + 1
    hasPriorities = node.priority != nil
    hasServerValues = node.hasServerValues
  }

  /// The sums over some children.
  init(_ children: ContiguousArray<Node.Child>) {
    for (key, node) in children {
      // Most children are plain leaves.
      guard case .leaf(let leaf) = node.form else {
        add(Totals((key: key, node: node)))
        continue
      }
      count += 1
      leaves += 1
      bytes += key.utf8Count + 4 + leaf.estimatedSize
      depth = max(depth, 1)
      if case .serverValue = leaf { hasServerValues = true }
    }
  }

  /// Adds another part of the same map.
  mutating func add(_ other: Totals) {
    count += other.count
    leaves += other.leaves
    bytes += other.bytes
    depth = max(depth, other.depth)
    hasPriorities = hasPriorities || other.hasPriorities
    hasServerValues = hasServerValues || other.hasServerValues
  }

  /// The sums after one part was replaced; nil when they must be computed anew from all parts.
  func replacing(_ old: Totals, with new: Totals) -> Totals? {
    if old.depth == depth && new.depth < depth { return nil }
    if old.hasPriorities && !new.hasPriorities { return nil }
    if old.hasServerValues && !new.hasServerValues { return nil }
    var sum = self
    sum.count -= old.count
    sum.leaves -= old.leaves
    sum.bytes -= old.bytes
    sum.add(new)
    return sum
  }
}
