/// A reason not to connect; the client connects when no reason is left.
package enum CloseReason: Hashable, Sendable {
  /// The engine is not ready yet; holds at first.
  case starting
  /// The app went offline.
  case offline
  /// There is no way to a server.
  case noTransport
  /// The database is suspended.
  case suspended
  /// The database is being closed.
  case closing
  /// The server sent the client away.
  case shutdown
}
