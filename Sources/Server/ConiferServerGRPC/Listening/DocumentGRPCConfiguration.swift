#if GRPC
  public import Logging

  /// The address, limits and timeouts of a ``DocumentGRPCServer``.
  public struct DocumentGRPCConfiguration: Sendable {
    /// The address or name to listen at. `localhost` means both loopback addresses; any host that is not a loopback address
    /// lets other machines connect.
    public var host: String
    /// The port; 0 for any free one.
    public var port: Int
    /// How much it takes.
    public var limits: DocumentGRPCLimits
    /// How long it waits.
    public var timeouts: DocumentGRPCTimeouts
    /// The logger; data, tokens and addresses of clients are never logged.
    public var logger: Logger

    /// Where a server listens, and what it bears.
    public init(
      host: String = "localhost", port: Int = 8080, limits: DocumentGRPCLimits = .init(),
      timeouts: DocumentGRPCTimeouts = .init(), logger: Logger = Logger(label: "conifer.grpc")
    ) {
      self.host = host
      self.port = port
      self.limits = limits
      self.timeouts = timeouts
      self.logger = logger
    }
  }

  /// The limits of a ``DocumentGRPCServer`` on connections, calls and messages.
  public struct DocumentGRPCLimits: Hashable, Sendable {
    /// Open connections; another one is closed at once.
    public var connections = 10_000
    /// Calls at a time on one connection; a client waits with another one.
    public var callsOfConnection = 100
    /// Calls at a time in all; another one is answered `RESOURCE_EXHAUSTED`.
    public var calls = 100_000
    /// The bytes of a request; a larger one is answered `INVALID_ARGUMENT`. A commit has at most 10 MiB.
    public var message = 32 << 20
    /// The bytes of all requests together that are being received, or answered; another one of more than 16 KiB is answered
    /// `RESOURCE_EXHAUSTED`. A request of a stream counts until the next one is taken up.
    public var requests = 512 << 20

    /// The default limits.
    public init() {}
  }

  /// How long a ``DocumentGRPCServer`` waits for silent clients, and for its own stop.
  public struct DocumentGRPCTimeouts: Hashable, Sendable {
    /// How long a connection without calls stays open.
    public var idle: Duration = .seconds(600)
    /// After how long a silence a client is asked for a sign of life.
    public var keepAlive: Duration = .seconds(60)
    /// How long a client may take for a sign of life before its connection is closed.
    public var keepAliveTimeout: Duration = .seconds(20)
    /// How often a client may ask for a sign of life; one that asks more often is disconnected. By default as often as it
    /// likes, up to the 200 times in 30 s that SwiftNIO lets it: clients measure a connection so while they receive.
    public var ping: Duration = .zero
    /// How long answers under way may take when the server stops.
    public var stop: Duration = .seconds(10)

    /// The default timeouts.
    public init() {}
  }
#endif
