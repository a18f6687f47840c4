/// What a client sends.
public enum ClientMessage: Hashable, Sendable {
  /// A request with its number, from 1 in each connection.
  case request(UInt64, Request)
  /// Nothing; keeps the connection open.
  case keepAlive
}

/// What a server sends.
public enum ServerMessage: Hashable, Sendable {
  /// Opens a connection.
  case hello(Hello)
  /// The answer to the request with a number.
  case response(UInt64, Response)
  /// News.
  case push(Push)
  /// The client is to connect to another host.
  case reset(host: String)
  /// The client is to stay away; with the reason.
  case shutdown(String)
  /// The server could not make sense of something.
  case error(String)
}

/// What a server says of itself when a connection opens.
public struct Hello: Hashable, Sendable {
  /// The server's time in milliseconds since 1970.
  public var timestamp: Int64
  /// The host to use from now on.
  public var host: String
  /// The connection's session, to be named when connecting again.
  public var session: String

  /// What a server says of itself.
  public init(timestamp: Int64, host: String, session: String) {
    self.timestamp = timestamp
    self.host = host
    self.session = session
  }
}
