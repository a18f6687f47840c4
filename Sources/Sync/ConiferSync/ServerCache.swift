public import ConiferKeyValue
public import ConiferQuery
public import ConiferTree

/// Where a new view finds the server data of earlier listens.
public protocol ServerCache: AnyObject {
  /// What is stored for a target.
  ///
  /// - Throws: as reads of the store do.
  func cached(_ target: QueryTarget) throws(StoreError) -> CachedNode
}

/// Server data, and how much of a target it is.
public struct CachedNode: Sendable {
  /// The data.
  public var node: Node
  /// Whether it is all of the target; otherwise its children are whole, and others may be missing.
  public var isComplete: Bool
  /// Whether it holds the children of the query alone, rather than all of the node.
  public var isFiltered: Bool

  /// Server data.
  public init(_ node: Node, isComplete: Bool, isFiltered: Bool) {
    self.node = node
    self.isComplete = isComplete
    self.isFiltered = isFiltered
  }

  /// Nothing is known.
  public static let unknown = CachedNode(.empty, isComplete: false, isFiltered: false)
}
