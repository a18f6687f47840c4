/// The condition on a document that must hold for a mutation to be applied.
public enum Precondition: Sendable, Hashable {
  /// Nothing.
  case none
  /// Whether the document exists.
  case exists(Bool)
  /// When the document, which must exist, was last changed.
  case updateTime(Timestamp)

  /// Whether any document that exists is as required.
  var isPlain: Bool { self == .none || self == .exists(true) }

  /// Whether a document is as required.
  public func holds(for document: Document) -> Bool {
    switch self {
    case .none: return true
    case .exists(let exists): return (document.fields != nil) == exists
    case .updateTime(let version): return document.fields != nil && document.version == version
    }
  }
}
