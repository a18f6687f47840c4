package import ConiferTree

/// How well the data that a view shows is known.
package struct ViewKnowledge: Hashable, Sendable {
  /// Whether the server keeps it up to date: it has told all of it, and the listen that brings changes stands.
  package var isCurrent: Bool
  /// Whether the server has ever told all of it.
  package var wasEverComplete: Bool
  /// The server's time in milliseconds since 1970 when it last told something of it; nil when that is not known.
  package var serverTime: Int64?
  /// Whether a pending write changes what is shown.
  package var hasPendingWrites: Bool

  /// How well data is known; not at all unless more is said.
  package init(
    isCurrent: Bool = false, wasEverComplete: Bool = false, serverTime: Int64? = nil,
    hasPendingWrites: Bool = false
  ) {
    self.isCurrent = isCurrent
    self.wasEverComplete = wasEverComplete
    self.serverTime = serverTime
    self.hasPendingWrites = hasPendingWrites
  }

  /// What the client itself says, of which no server knows.
  package static let own = ViewKnowledge(isCurrent: true, wasEverComplete: true)

  /// What the server has just answered.
  package static func answered(at serverTime: Int64, hasPendingWrites: Bool) -> ViewKnowledge {
    ViewKnowledge(
      isCurrent: true, wasEverComplete: true, serverTime: serverTime,
      hasPendingWrites: hasPendingWrites)
  }
}

/// What a target shows, and how well that is known.
package struct KnownNode: Sendable {
  /// What is shown.
  package let node: Node
  /// How well it is known.
  package let knowledge: ViewKnowledge

  /// What is shown, and how well it is known.
  package init(_ node: Node, _ knowledge: ViewKnowledge) {
    self.node = node
    self.knowledge = knowledge
  }
}
