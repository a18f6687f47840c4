package import ConiferTree

/// Server data, and how much of a target it covers.
package struct CachedNode: Sendable {
  /// The data.
  package var node: Node
  /// Whether it is all of the target; otherwise its children are whole, and other children may be missing.
  package var isComplete: Bool
  /// Whether it holds only the query's children, not the whole node.
  package var isFiltered: Bool

  /// Server data.
  package init(_ node: Node, isComplete: Bool, isFiltered: Bool) {
    self.node = node
    self.isComplete = isComplete
    self.isFiltered = isFiltered
  }

  /// Nothing is known.
  package static let unknown = CachedNode(.empty, isComplete: false, isFiltered: false)
}
