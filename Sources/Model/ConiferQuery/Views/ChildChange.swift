package import ConiferTree

/// What happened to one child of what a query shows.
package struct ChildChange: Sendable {
  /// What happened; the raw values order the kinds within one change of a view.
  package enum Kind: UInt8, Sendable {
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
  package let kind: Kind
  /// The child's key.
  package let key: Key
  /// The child; what it was if it was removed.
  package let node: Node
}
