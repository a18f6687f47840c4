package import ConiferTree

/// A change of one child of a query's result.
package struct ChildChange: Sendable {
  /// The kind of change; the raw values order the kinds within one change of a view.
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

  /// The kind of change.
  package let kind: Kind
  /// The child's key.
  package let key: Key
  /// The child; what it was if it was removed.
  package let node: Node
}
