package import ConiferQuery
package import ConiferTree

/// What a listener is told.
package struct DataEvent: Sendable {
  /// What happened; the raw values order the kinds within one change of a view.
  package enum Kind: UInt8, Sendable, Comparable {
    /// A child left the view.
    case childRemoved
    /// A child came into the view.
    case childAdded
    /// A child has moved in the view's order.
    case childMoved
    /// A child has another value or priority.
    case childChanged
    /// The whole view; comes last.
    case value

    /// Orders kinds as one change raises them.
    package static func < (a: Kind, b: Kind) -> Bool { a.rawValue < b.rawValue }
  }

  /// Several kinds.
  package struct Kinds: OptionSet, Sendable, Hashable {
    /// One bit for each kind.
    package let rawValue: UInt8

    /// The kinds with these bits.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// One kind.
    package init(_ kind: Kind) { rawValue = 1 << kind.rawValue }

    /// All kinds of child events.
    package static let children = Kinds(rawValue: 0b01111)
    /// All kinds.
    package static let all = Kinds(rawValue: 0b11111)
  }

  /// What happened.
  package var kind: Kind
  /// The view's target.
  package var target: QueryTarget
  /// The child; nil for a value.
  package var key: Key?
  /// The child's node, the old one if it was removed, or the whole view's.
  package var node: Node
  /// The child before it in the view's order; nil for the first one, a removed one, and a value.
  package var previousKey: Key?
  /// How well the node is known.
  package var knowledge: ViewKnowledge

  /// What a listener is told.
  package init(
    _ kind: Kind, _ target: QueryTarget, key: Key? = nil, node: Node, previousKey: Key? = nil,
    knowledge: ViewKnowledge = ViewKnowledge()
  ) {
    self.kind = kind
    self.target = target
    self.key = key
    self.node = node
    self.previousKey = previousKey
    self.knowledge = knowledge
  }
}
