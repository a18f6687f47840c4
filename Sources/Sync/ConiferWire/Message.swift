/// A message that a client sends to a server.
public enum ClientMessage: Hashable, Sendable {
  /// A request with its number; numbers ascend in each connection.
  case request(UInt64, Request)
  /// A message without content that keeps the connection open.
  case keepAlive
  /// Asks for a `pong`, as a sign of life.
  case ping
  /// Something that this version does not know, with its number if it has one; ignored.
  case unknown(UInt64?, action: String)
  /// A request with an invalid body, or with data that no tree can hold, and the reason, which may quote
  /// the data; answered `failure`.
  case invalid(UInt64, reason: String)
  /// A request that is longer, or nested deeper, than the limit; answered `too_big`.
  case tooLarge(UInt64, reason: String)
}

/// A message that a server sends to a client.
public enum ServerMessage: Hashable, Sendable {
  /// Opens a connection.
  case hello(Hello)
  /// The answer to the request with a number.
  case response(UInt64, Response)
  /// News that the client did not ask for.
  case push(Push)
  /// The client is to connect to another host.
  case reset(host: String)
  /// The client is not to connect again; with the reason.
  case shutdown(String)
  /// The server could not read a message.
  case error(String)
  /// The answer to a `ping`.
  case pong
  /// Something that this version does not know; ignored.
  case unknown(String)
}

/// The server's greeting when a connection opens.
public struct Hello: Hashable, Sendable {
  /// The server's time in milliseconds since 1970.
  public var timestamp: Int64
  /// The host to use from now on.
  public var host: String
  /// The connection's session, to be named when connecting again.
  public var session: String

  /// The server's greeting.
  public init(timestamp: Int64, host: String, session: String) {
    self.timestamp = timestamp
    self.host = host
    self.session = session
  }
}
