/// A way to open connections to a server: over a WebSocket, or within the process.
///
/// A transport only opens connections: the client decides when to connect and what to send.
public protocol Transport: Sendable {
  /// Begins to open a connection; returns at once.
  ///
  /// - Parameters:
  ///   - request: where to connect.
  ///   - receive: called with each event, one call after the other, on any thread: first the message
  ///     `hello`, last `closed`, exactly once, also when no connection was made. There are no more
  ///     messages than the client gave credit for. It returns quickly.
  /// - Returns: the connection, which accepts messages at once and sends them when it is open.
  func connect(
    _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
  ) -> any TransportConnection

  /// A transport of the same kind to another host; nil when there is none, which is the default.
  ///
  /// - Parameters:
  ///   - host: the host, with its port if it is not the usual one.
  ///   - isSecure: whether its connections are to be encrypted.
  func leading(to host: String, isSecure: Bool) -> (any Transport)?

  /// Begins to report when the network may have returned, so that a client can connect before the
  /// delay of its next attempt ends; nil when that cannot be known, which is the default.
  ///
  /// - Parameter returned: called each time, on any thread; it returns quickly.
  func watchNetwork(_ returned: @escaping @Sendable () -> Void) -> (any NetworkWatch)?

  /// Where it leads, for people and logs; holds no secret.
  var description: String { get }
}

extension Transport {
  /// Nil: there is no other host.
  public func leading(to host: String, isSecure: Bool) -> (any Transport)? { nil }

  /// Nil: it cannot be known.
  public func watchNetwork(_ returned: @escaping @Sendable () -> Void) -> (any NetworkWatch)? {
    nil
  }
}

/// A running watch for the return of the network, until it is stopped.
public protocol NetworkWatch: AnyObject, Sendable {
  /// Ends it; a call that has begun may still arrive.
  func stop()
}

/// The parameters of a connection to open, which are the database, the host, the last session, the
/// credit and the app's token.
public struct ConnectionRequest: Hashable, Sendable {
  /// The database's name on the server.
  public var namespace: String
  /// The host that an earlier `hello` or `reset` named; nil for the transport's own.
  public var host: String?
  /// The last session, so that the server ends it; nil for none.
  public var lastSession: String?
  /// The number of messages that may come before the client gives more credit; nil for any number.
  public var credit: Int?
  /// The token of the app itself, for a transport that shows it when it connects, as a WebSocket does in the header
  /// `X-Firebase-AppCheck`; the client shows it by the message `appcheck` too. Nil for none.
  public var appToken: Credential?

  /// Where to connect.
  public init(
    namespace: String, host: String? = nil, lastSession: String? = nil, credit: Int? = nil
  ) {
    self.namespace = namespace
    self.host = host
    self.lastSession = lastSession
    self.credit = credit
  }
}

/// One connection of a client to a server. Messages arrive whole and in order, or not at all.
public protocol TransportConnection: AnyObject, Sendable {
  /// Sends a message; never blocks, and does nothing after the connection was closed.
  func send(_ message: ClientMessage)
  /// Ends the connection; `closed` follows.
  func close()
  /// Lets more messages come, beyond the credit of the ``ConnectionRequest`` and of earlier calls.
  ///
  /// A client gives credit as it stores messages. A connection without credit reads nothing, so
  /// that the server waits; `closed` and `pong` need no credit. By default it does nothing: every
  /// message is delivered at once, and waits in the client's memory.
  ///
  /// - Parameter messages: how many more.
  func grantCredit(_ messages: Int)
  /// Asks the server for a sign of life: whatever comes next, even a part of a message, is reported as
  /// the message `pong`.
  ///
  /// - Returns: whether it can probe; false by default. Then a connection whose server is silent is
  ///   given up later.
  func probe() -> Bool
}

extension TransportConnection {
  /// Nothing: all that comes is handed on at once.
  public func grantCredit(_ messages: Int) {}

  /// False: it cannot ask.
  public func probe() -> Bool { false }
}

/// A message that came on a connection, or the connection's end.
public enum TransportEvent: Sendable {
  /// A message came.
  case message(ServerMessage)
  /// The connection ended, or could not be made; with the reason.
  case closed(String)
}
