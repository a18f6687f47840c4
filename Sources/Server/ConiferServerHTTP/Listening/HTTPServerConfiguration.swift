#if Network
  public import Logging

  /// Where a server listens, and what it bears.
  public struct HTTPServerConfiguration: Sendable {
    /// The address or name to listen at. `localhost` means both loopback addresses; every other host
    /// than those of the loopback lets other machines in.
    public var host: String
    /// The port; 0 for any that is free.
    public var port: Int
    /// The database of requests that name none.
    public var namespace: String
    /// The origins whose pages may ask beside the server's own, as browsers name them
    /// (`http://app.test:5173`), or `*` for all; nil for those of this machine's loopback. The server
    /// may be reached under their names, too.
    public var origins: Set<String>?
    /// How much it takes.
    public var limits: HTTPServerLimits
    /// How long it waits.
    public var timeouts: HTTPServerTimeouts
    /// Called for each database before it is served, to open its store or set its rules; and again when
    /// the database was empty, unused and forgotten. What it throws is logged, and requests for the
    /// database are refused with 503.
    public var prepare: (@Sendable (_ namespace: String) async throws -> Void)?
    /// Where it logs; data, tokens and addresses of clients are never logged.
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
  }

  /// How much a server takes. Sizes are in bytes.
  public struct HTTPServerLimits: Hashable, Sendable {
    /// Open connections; one more is answered 503.
    public var connections = 10_000
    /// Databases that are in use, or have data, rules or indexes of their own; a request for one more is
    /// answered 503.
    public var namespaces = 10_000
    /// A request line with its headers, and how many of these.
    public var head = 64 * 1024
    /// The number of headers.
    public var headers = 100
    /// A request's body; a larger one is answered 413.
    public var body = 256 * 1024 * 1024
    /// A message of a WebSocket, in whatever frames it comes; a request in a larger one is answered
    /// `too_big`.
    public var message = 32 * 1024 * 1024
    /// A message that is too large: it is read and thrown away as it comes, so that its request can be
    /// answered. One that has more ends its connection.
    public var discarded = 1024 * 1024 * 1024
    /// Requests of one session that wait for their answers; no more are read until some have them.
    public var unanswered = 1024
    /// What may wait for a slow reader: a session for which more waits is ended. One message may pass
    /// it.
    public var unread = 64 * 1024 * 1024
    /// What is held for all connections: what waits for readers, the bodies of requests with the trees
    /// that are read from them, large answers, messages that are not whole or not answered. Connections
    /// that hold at most 16 KiB have a quarter more in all.
    public var total = 1024 * 1024 * 1024

    /// The usual sizes.
    public init() {}
  }

  /// How long a server waits.
  public struct HTTPServerTimeouts: Hashable, Sendable {
    /// For the next part of a request, or the first one.
    public var idle: Duration = .seconds(60)
    /// For the whole of a request, and of a message of a WebSocket.
    public var request: Duration = .seconds(300)
    /// For a client that does not read what was sent to it.
    public var write: Duration = .seconds(30)
    /// Before a WebSocket that is silent is asked for a sign of life, with a ping of WebSockets. Clients
    /// speak every 45 seconds by themselves, and some take a ping for an error: keep it above a minute.
    public var ping: Duration = .seconds(90)
    /// For any sign of life of a WebSocket: when none comes, its session ends.
    public var silence: Duration = .seconds(120)
    /// Before the system asks the system of a client that is silent whether it is there, which the client
    /// does not see: every ``probe`` from then on, and after three questions in vain the connection is
    /// over. Whole seconds.
    public var keepAlive: Duration = .seconds(30)
    /// Between these questions. Whole seconds.
    public var probe: Duration = .seconds(10)
    /// For the other side when a connection is closed in good order.
    public var close: Duration = .seconds(2)
    /// For answers under way when the server stops.
    public var stop: Duration = .seconds(10)

    /// The usual times.
    public init() {}

    /// How often a connection looks at the time.
    var look: Duration {
      let shortest = [idle, request, write, ping, silence, close].min() ?? idle
      return min(max(shortest / 4, .milliseconds(5)), .seconds(5))
    }
  }
#endif
