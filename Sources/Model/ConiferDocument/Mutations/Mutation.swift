/// A write that sets, patches, deletes or verifies one document, if its precondition holds.
public struct Mutation: Sendable, Hashable {
  /// The change that a mutation makes: a set, a patch, a deletion, or none.
  public enum Change: Sendable, Hashable {
    /// The whole document, and then transforms of its fields.
    case set(MapValue, [FieldTransform])
    /// The fields of the mask get the map's values; those that the map lacks are deleted. Then
    /// transforms.
    case patch(MapValue, FieldMask, [FieldTransform])
    /// The document is deleted.
    case delete
    /// Nothing: only the precondition is checked.
    case verify
  }

  /// The document.
  public let path: DocumentPath
  /// What is written.
  public let change: Change
  /// The condition under which the write takes place.
  public let precondition: Precondition

  /// A write that is not checked: what a store holds or a server sends.
  public init(_ path: DocumentPath, _ change: Change, if precondition: Precondition = .none) {
    self.path = path
    self.change = change
    self.precondition = precondition
  }

  /// The transforms, in the order of their results in the server's answer.
  public var transforms: [FieldTransform] {
    switch change {
    case .set(_, let transforms), .patch(_, _, let transforms): return transforms
    case .delete, .verify: return []
    }
  }
}
