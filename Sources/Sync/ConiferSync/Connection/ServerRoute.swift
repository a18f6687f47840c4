import ConiferWire

/// How the server is reached: what earlier connections have said about that.
struct ServerRoute: Sendable {
  private let namespace: String
  /// The number of the last connection.
  private var lastConnection: UInt64 = 0
  /// The host that the server named.
  private var host: String?
  /// The name of the last session.
  private var lastSession: String?
  /// Whether the server sent the client to another host since a connection stood for long.
  private(set) var wasRedirected = false

  init(namespace: String) { self.namespace = namespace }

  /// The next connection, with a number of its own.
  mutating func next() -> (request: ConnectionRequest, number: ConnectionNumber) {
    lastConnection += 1
    return (
      ConnectionRequest(namespace: namespace, host: host, lastSession: lastSession),
      ConnectionNumber(rawValue: lastConnection)
    )
  }

  /// The server said hello.
  mutating func greeted(_ hello: Hello) {
    if !hello.host.isEmpty { host = hello.host }
    lastSession = hello.session
  }

  /// The server sends the client to another host.
  mutating func redirected(to host: String) {
    self.host = host
    wasRedirected = true
  }

  /// No connection was made: the server's redirection may be what does not work.
  mutating func failed() { host = nil }

  /// A connection has stood for long.
  mutating func becameStable() { wasRedirected = false }
}
