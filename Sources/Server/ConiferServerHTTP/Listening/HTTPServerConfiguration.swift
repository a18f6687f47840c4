#if Network
  public import Logging

  /// The address, limits and timeouts of an ``HTTPServer``.
  public struct HTTPServerConfiguration: Sendable {
    /// The address or name to listen at. `localhost` means both loopback addresses; any host that
    /// is not a loopback address lets other machines connect.
    public var host: String
    /// The port; 0 for any free one.
    public var port: Int
    /// The database of requests that name none.
    public var namespace: String
    /// The origins whose pages may send requests besides the server's own, as browsers write them
    /// (`http://app.test:5173`), or `*` for all; nil for those of this machine's loopback. The
    /// server also answers under their names.
    public var origins: Set<String>?
    /// How much it takes.
    public var limits: HTTPServerLimits
    /// How long it waits.
    public var timeouts: HTTPServerTimeouts
    /// Called for each database before it is served, to open its store or set its rules; called
    /// again when the database was empty, unused and therefore dropped. Its errors are logged, and
    /// requests for the database are refused with 503.
    public var prepare: (@Sendable (_ namespace: String) async throws -> Void)?
    /// The logger; data, tokens and addresses of clients are never logged.
    public var logger: Logger

    /// Where a server listens, and what it bears.
    public init(
      host: String = "localhost", port: Int = 9000, namespace: String = NamespaceName.default,
      origins: Set<String>? = nil, limits: HTTPServerLimits = HTTPServerLimits(),
      timeouts: HTTPServerTimeouts = HTTPServerTimeouts(),
      prepare: (@Sendable (_ namespace: String) async throws -> Void)? = nil,
      logger: Logger = Logger(label: "conifer.http")
    ) {
      self.host = host
      self.port = port
      self.namespace = namespace
      self.origins = origins
      self.limits = limits
      self.timeouts = timeouts
      self.prepare = prepare
      self.logger = logger
    }

    /// Whether it listens at the loopback alone, where no other machine can connect.
    package var isLoopback: Bool { HostName(configured: host)?.isLoopback == true }
  }

  /// The limits of an ``HTTPServer`` on connections, requests, messages and memory. Sizes are in
  /// bytes.
  public struct HTTPServerLimits: Hashable, Sendable {
    /// Open connections; another one is answered 503.
    public var connections = 10_000
    /// Databases that are in use, or have data, rules or indexes of their own; a request for one more is
    /// answered 503.
    public var namespaces = 10_000
    /// A request line with its headers.
    public var head = 64 * 1024
    /// The number of headers.
    public var headers = 100
    /// A request's body; a larger one is answered 413.
    public var body = 256 * 1024 * 1024
    /// A WebSocket message, in one or more frames; a request in a larger one is answered `too_big`.
    public var message = 32 * 1024 * 1024
    /// A message that is too large, but is read and thrown away so that its request can be
    /// answered. A larger one ends its connection.
    public var discarded = 1024 * 1024 * 1024
    /// Requests of one session that wait for answers; no more are read until some are answered.
    public var unanswered = 1024
    /// Data that may wait for a slow reader: a session for which more waits is ended. One message
    /// may exceed it.
    public var unread = 64 * 1024 * 1024
    /// The memory of all connections: data that waits for readers, bodies of requests with the
    /// trees decoded from them, large answers, incomplete or unanswered messages. Connections that
    /// hold at most 16 KiB have a quarter more in all.
    public var total = 1024 * 1024 * 1024

    /// The default limits.
    public init() {}
  }

  /// The timeouts of an ``HTTPServer`` for requests, silent clients, and its own stop.
  public struct HTTPServerTimeouts: Hashable, Sendable {
    /// For the next part of a request, or the first one.
    public var idle: Duration = .seconds(60)
    /// For the whole of a request, and of a message of a WebSocket.
    public var request: Duration = .seconds(300)
    /// For a client that does not read what was sent to it.
    public var write: Duration = .seconds(30)
    /// Silence after which the server sends a WebSocket ping. Clients send something every 45
    /// seconds, and some treat a ping as an error: keep it above a minute.
    public var ping: Duration = .seconds(90)
    /// Silence after which a WebSocket's session ends.
    public var silence: Duration = .seconds(120)
    /// Silence after which TCP keep-alive probes begin, one every ``probe``; the client program
    /// does not see them. After three unanswered probes the connection ends. Whole seconds.
    public var keepAlive: Duration = .seconds(30)
    /// The time between these probes. Whole seconds.
    public var probe: Duration = .seconds(10)
    /// For the client when a connection is closed in an orderly way.
    public var close: Duration = .seconds(2)
    /// For answers under way when the server stops.
    public var stop: Duration = .seconds(10)

    /// The default timeouts.
    public init() {}

    /// The interval at which a connection checks its timeouts.
    var look: Duration {
      let shortest = [idle, request, write, ping, silence, close].min() ?? idle
      return min(max(shortest / 4, .milliseconds(5)), .seconds(5))
    }
  }
#endif
