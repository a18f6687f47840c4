package import ConiferQuery

/// A listen that a server is asked for.
package struct Listen: Hashable, Sendable {
  /// The normalized target.
  package let target: QueryTarget
  /// The tag of the pushes of a filtered query; nil for a default one.
  package let tag: Int?

  /// A listen.
  package init(_ target: QueryTarget, tag: Int?) {
    self.target = target
    self.tag = tag
  }
}
