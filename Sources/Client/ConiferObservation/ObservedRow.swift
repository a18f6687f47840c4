/// An element of a list, with what tells it from the others.
public struct ObservedRow<Element: Sendable>: Identifiable, Sendable {
  /// The child's key, or the document's path; unique in its list.
  public let id: String
  /// What it holds.
  public let value: Element
}

extension ObservedRow: Equatable where Element: Equatable {}
