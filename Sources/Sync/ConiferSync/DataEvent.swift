public import ConiferQuery
public import ConiferTree

/// What a listener is told.
public struct DataEvent: Sendable {
  /// What happened; the raw values order the kinds within one change of a view.
  public enum Kind: UInt8, Sendable, Comparable {
    /// A child left the view.
    case childRemoved
    /// A child came into the view.
    case childAdded
    /// A child has another place in the view's order.
    case childMoved
    /// A child has another value or priority.
    case childChanged
    /// The whole view, after all else.
    case value

    /// Orders kinds as one change raises them.
    public static func < (a: Kind, b: Kind) -> Bool { a.rawValue < b.rawValue }
  }

  /// Several kinds.
  public struct Kinds: OptionSet, Sendable, Hashable {
    /// A bit a kind.
    public let rawValue: UInt8

    /// The kinds with these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// One kind.
    public init(_ kind: Kind) { rawValue = 1 << kind.rawValue }

    /// All kinds of child events.
    public static let children = Kinds(rawValue: 0b01111)
    /// All kinds.
    public static let all = Kinds(rawValue: 0b11111)
  }

  /// What happened.
  public var kind: Kind
  /// The view that it happened to.
  public var target: QueryTarget
  /// The child; nil for a value.
  public var key: Key?
  /// The child's node, the old one if it was removed, or the whole view's.
  public var node: Node
  /// The child before it in the view's order; nil for the first one, a removed one, and a value.
  public var previousKey: Key?

  /// What a listener is told.
  public init(
    _ kind: Kind, _ target: QueryTarget, key: Key? = nil, node: Node, previousKey: Key? = nil
  ) {
    self.kind = kind
    self.target = target
    self.key = key
    self.node = node
    self.previousKey = previousKey
  }
}
