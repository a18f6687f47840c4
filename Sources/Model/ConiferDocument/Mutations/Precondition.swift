/// The condition on a document that must hold for a mutation to be applied.
public enum Precondition: Sendable, Hashable {
  /// Nothing.
  case none
  /// Whether the document exists.
  case exists(Bool)
  /// When the document, which must exist, was last changed.
  case updateTime(Timestamp)

  /// Whether the condition holds for every document that exists.
  var isPlain: Bool { self == .none || self == .exists(true) }

  /// Whether the condition holds for a document.
  public func holds(for document: Document) -> Bool {
    switch self {
    case .none: return true
    case .exists(let exists): return (document.fields != nil) == exists
    case .updateTime(let version): return document.fields != nil && document.version == version
    }
  }
}
