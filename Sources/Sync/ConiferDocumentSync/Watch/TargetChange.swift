package import ConiferDocument

/// What a consistent snapshot of the server changes for one target.
package struct TargetChange: Sendable, Hashable {
  /// Where the server goes on with the target; empty when it sent none.
  package var resumeToken: [UInt8]
  /// Whether the server has sent all that it had for the target when it was added.
  package var isCurrent: Bool
  /// The documents that matched from now on.
  package var added: Set<DocumentPath>
  /// The documents that matched before, and still do.
  package var modified: Set<DocumentPath>
  /// The documents that match no longer.
  package var removed: Set<DocumentPath>

  /// A change.
  package init(
    resumeToken: [UInt8] = [], isCurrent: Bool, added: Set<DocumentPath> = [],
    modified: Set<DocumentPath> = [], removed: Set<DocumentPath> = []
  ) {
    self.resumeToken = resumeToken
    self.isCurrent = isCurrent
    self.added = added
    self.modified = modified
    self.removed = removed
  }
}
