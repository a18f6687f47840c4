/// Whether the user's token lets writes be sent.
package enum Authentication: Hashable, Sendable {
  /// Nobody is signed in: writes are sent as nobody's.
  case signedOut
  /// Somebody is signed in, and the server has not taken the token on this connection yet, or there
  /// is no connection.
  case pending
  /// The server has taken the token.
  case authenticated
  /// Writes and new listens wait for another token.
  case blocked(TokenProblem)
}
