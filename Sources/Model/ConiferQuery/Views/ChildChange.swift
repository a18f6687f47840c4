public import ConiferTree

/// What happened to one child of what a query shows.
public struct ChildChange: Sendable {
  /// What happened; the raw values order the kinds within one change of a view.
  public enum Kind: UInt8, Sendable {
    /// The child left.
    case removed
    /// The child came.
    case added
    /// The child has another index value; a `changed` follows.
    case moved
    /// The child has another value or priority.
    case changed
  }

  /// What happened.
  public let kind: Kind
  /// The child's key.
  public let key: Key
  /// The child; what it was if it was removed.
  public let node: Node
}
