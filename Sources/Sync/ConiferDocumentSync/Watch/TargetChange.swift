package import ConiferDocument

/// What a consistent snapshot of the server changes for one target.
package struct TargetChange: Sendable, Hashable {
  /// Where the server goes on with the target; empty when it sent none.
  package var resumeToken: [UInt8]
  /// Whether the server has sent all that it had for the target when it was added.
  package var isCurrent: Bool
  /// The documents that match from now on, in order.
  package var added: [DocumentPath]
  /// The documents that matched before, and still do, in order.
  package var modified: [DocumentPath]
  /// The documents that match no longer, in order.
  package var removed: [DocumentPath]

  /// A change.
  package init(
    resumeToken: [UInt8] = [], isCurrent: Bool, added: [DocumentPath] = [],
    modified: [DocumentPath] = [], removed: [DocumentPath] = []
  ) {
    self.resumeToken = resumeToken
    self.isCurrent = isCurrent
    self.added = added
    self.modified = modified
    self.removed = removed
  }
}
