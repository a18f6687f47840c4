/// How many more messages from the server a connection may hand to its client.
package struct MessageCredit: Sendable {
  private var rest: Int

  /// - Parameter messages: the first credit; nil for any number of messages.
  package init(_ messages: Int?) { rest = messages ?? .max }

  /// Whether a message costs credit; a sign of life does not.
  package static func counts(_ message: ServerMessage) -> Bool { message != .pong }

  /// Whether there is credit for a message.
  package var isLeft: Bool { rest > 0 }

  /// Takes what a message costs.
  package mutating func take(for message: ServerMessage) {
    if Self.counts(message) { rest -= 1 }
  }

  /// Adds to it.
  package mutating func grant(_ messages: Int) {
    let (sum, isOver) = rest.addingReportingOverflow(messages)
    rest = isOver ? .max : sum
  }
}
