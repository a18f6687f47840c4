/// Whether it is known who is signed in.
package enum Identification: Hashable, Sendable {
  /// It is the user whose lane is shown, or nobody.
  case known
  /// The app has just started and the token provider is asked: what depends on the user waits. If the
  /// provider fails, nobody is signed in.
  case starting
  /// Perhaps somebody else since the app said so: what depends on the user waits for an answer.
  case changing
  /// Perhaps somebody else, and the provider failed, for this reason; it is asked again at an uptime.
  /// Reads go on as the user before, writes wait.
  case unanswered(String, retry: Milliseconds)

  /// Whether the token provider is asked, and what depends on the user waits.
  package var isAsked: Bool { self == .starting || self == .changing }
}
