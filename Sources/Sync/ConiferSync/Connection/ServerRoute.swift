/// What earlier connections have said about how to reach the server.
struct ServerRoute: Sendable {
  /// The number of the last connection.
  var lastConnection: UInt64 = 0
  /// The host that the server named.
  var host: String?
  /// The name of the last session.
  var lastSession: String?
  /// Whether the server sent the client to another host since a connection stood for long.
  var wasRedirected = false
}
