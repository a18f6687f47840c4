/// Why a token cannot be used.
package enum TokenProblem: Hashable, Sendable {
  /// It has expired.
  case expired(String)
  /// The server does not take it.
  case refused(String)
  /// The app's token provider gives none.
  case unavailable(String)
}
