import ConiferWire

/// What the server reveals at the beginning of a stream about the resume tokens that it was sent. A
/// server that knows none of them has lost its history, or is another server.
struct TokenEvidence: Sendable {
  /// The resumed targets for which it is not known yet whether the server knows the token.
  private var unresolved: Set<TargetID> = []
  /// Those of them that were removed meanwhile. The server's messages count until it has answered
  /// the removal.
  private var leaving: Set<TargetID> = []
  /// Whether the server went on with a target.
  private var hasResumed = false
  private var hasReset = false

  /// Whether the server knows none of the tokens, and has said so of one at least.
  var indicatesNewServer: Bool { hasReset && unresolved.isEmpty && leaving.isEmpty && !hasResumed }

  /// A target is asked for from where it was.
  mutating func resumed(_ id: TargetID) { unresolved.insert(id) }

  /// A target is being removed.
  mutating func removing(_ id: TargetID) { if unresolved.remove(id) != nil { leaving.insert(id) } }

  /// The server has removed a target, or refused a listen that was being removed. It reveals
  /// nothing about the token any more.
  mutating func removed(_ id: TargetID) { leaving.remove(id) }

  /// The server refused a target.
  mutating func refused(_ id: TargetID) { unresolved.remove(id) }

  /// The server begins a target anew. One that went on with it before knew its token, whatever it does since.
  mutating func reset(_ id: TargetID) {
    hasReset = true
    take(id)
  }

  /// The server has told all of a target, without having begun it anew.
  mutating func current(_ id: TargetID) { if take(id) { hasResumed = true } }

  /// - Returns: whether the target's token was not resolved yet.
  @discardableResult
  private mutating func take(_ id: TargetID) -> Bool {
    leaving.remove(id) != nil || unresolved.remove(id) != nil
  }
}
