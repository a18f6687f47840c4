import ConiferWire

/// What a server shows at the beginning of a stream to know of the tokens that it is asked to go on from. One that knows
/// none of them lost its history, or is another server.
struct TokenEvidence: Sendable {
  /// The targets that go on from a token, of which the server has not shown whether it knows that.
  private var open: Set<TargetID> = []
  /// Those of them that were removed meanwhile: until the server answers that, what it says of them still shows it.
  private var leaving: Set<TargetID> = []
  /// Whether the server went on with a target.
  private var goesOn = false
  private var hasReset = false

  /// Whether the server knows none of the tokens, and has said so of one at least.
  var isOfNewServer: Bool { hasReset && open.isEmpty && leaving.isEmpty && !goesOn }

  /// A target is asked for from where it was.
  mutating func resumed(_ id: TargetID) { open.insert(id) }

  /// A target is being removed.
  mutating func removing(_ id: TargetID) { if open.remove(id) != nil { leaving.insert(id) } }

  /// The server has removed a target, or refused a listen that was being removed: of that it shows nothing any more.
  mutating func removed(_ id: TargetID) { leaving.remove(id) }

  /// The server refused a target.
  mutating func refused(_ id: TargetID) { open.remove(id) }

  /// The server begins a target anew. One that went on with it before knew its token, whatever it does since.
  mutating func reset(_ id: TargetID) {
    hasReset = true
    take(id)
  }

  /// The server has told all of a target, without having begun it anew.
  mutating func current(_ id: TargetID) { if take(id) { goesOn = true } }

  /// - Returns: whether nothing was known of a target's token.
  @discardableResult
  private mutating func take(_ id: TargetID) -> Bool {
    leaving.remove(id) != nil || open.remove(id) != nil
  }
}
