package import ConiferTree

/// Server data, and how much of a target it covers.
package struct CachedNode: Sendable {
  /// The data.
  package var node: Node
  /// Whether it is all of the target; otherwise its children are whole, and other children may be missing.
  package var isComplete: Bool
  /// Whether it holds only the query's children, not the whole node.
  package var isFiltered: Bool
  /// The server's time in milliseconds since 1970 when it last told something of it; nil when that is not known.
  package var serverTime: Int64?

  /// Server data.
  package init(_ node: Node, isComplete: Bool, isFiltered: Bool, serverTime: Int64? = nil) {
    self.node = node
    self.isComplete = isComplete
    self.isFiltered = isFiltered
    self.serverTime = serverTime
  }

  /// Nothing is known.
  package static let unknown = CachedNode(.empty, isComplete: false, isFiltered: false)
}
