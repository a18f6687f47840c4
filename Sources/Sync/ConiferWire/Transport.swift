/// A way to a server: over a WebSocket, or within the process.
///
/// A transport opens connections and nothing more: when to connect, to wait, and what to send is the
/// client's business.
public protocol Transport: Sendable {
  /// Begins to open a connection; returns at once.
  ///
  /// - Parameters:
  ///   - request: where to connect.
  ///   - receive: called with what happens, one call after the other, on any thread: first `hello`
  ///     as a message, at last `closed` exactly once, also when no connection came about. No more
  ///     messages come than there is credit for. It must return quickly.
  /// - Returns: the connection, which takes messages at once and sends them when it is open.
  func connect(
    _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
  ) -> any TransportConnection

  /// The way of the same kind to another host; nil when there is none, as by default.
  ///
  /// - Parameters:
  ///   - host: the host, with its port if it is not the usual one.
  ///   - isSecure: whether what is sent there is to be encrypted.
  func leading(to host: String, isSecure: Bool) -> (any Transport)?

  /// Begins to tell when the network may have returned, so that a client that waits before its next
  /// attempt need not wait on; nil when that cannot be known, as by default.
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

/// What tells of the network, until it is stopped.
public protocol NetworkWatch: AnyObject, Sendable {
  /// Ends it; a call that is under way may still come.
  func stop()
}

/// Where to connect.
public struct ConnectionRequest: Hashable, Sendable {
  /// The database's name on the server.
  public var namespace: String
  /// The host that an earlier `hello` or `reset` named; nil for the transport's own.
  public var host: String?
  /// The last session, so that the server ends it; nil for none.
  public var lastSession: String?
  /// How many messages may come before the client gives more credit; nil for any number.
  public var credit: Int?

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

/// One connection; messages arrive whole and in order, or not at all.
public protocol TransportConnection: AnyObject, Sendable {
  /// Hands a message over; never blocks, and does nothing after the connection was closed.
  func send(_ message: ClientMessage)
  /// Ends the connection; `closed` follows.
  func close()
  /// Lets more messages come, beyond the credit of the ``ConnectionRequest`` and of earlier calls.
  ///
  /// A client gives credit as it stores what came. A connection without credit reads nothing more, so
  /// that the server waits; `closed` and a `pong` need none. By default it does nothing, so that all that
  /// comes is handed on, and waits in the client's memory.
  ///
  /// - Parameter messages: how many more.
  func grantCredit(_ messages: Int)
  /// Asks the other end for a sign of life: whatever comes next, be it a part of a message, is told as
  /// the message `pong`.
  ///
  /// - Returns: whether it can ask; false by default. Then a server that owes an answer and is silent is
  ///   given up later.
  func probe() -> Bool
}

extension TransportConnection {
  /// Nothing: all that comes is handed on at once.
  public func grantCredit(_ messages: Int) {}

  /// False: it cannot ask.
  public func probe() -> Bool { false }
}

/// What happens on a connection.
public enum TransportEvent: Sendable {
  /// A message came.
  case message(ServerMessage)
  /// The connection is gone, or none came about; the words say why.
  case closed(String)
}
