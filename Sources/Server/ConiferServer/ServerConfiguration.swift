public import Logging

/// How a server decides, and what it allows.
public struct ServerConfiguration: Sendable {
  /// What tells it who a token's bearer is.
  public var authenticator: any Authenticator
  /// What decides who may read and write, in databases that get no rules of their own.
  public var rules: any AccessRules
  /// The sizes that it takes.
  public var limits: ServerLimits
  /// The time that it goes by.
  public var clock: ServerClock
  /// The host that it tells clients to connect to again.
  public var host: String
  /// Where it logs what nobody is answered: a failed commit, an operation at a disconnect that the
  /// rules refused. Data and tokens are never logged.
  public var logger: Logger

  /// How a server decides, and what it allows.
  public init(
    authenticator: any Authenticator = OpenAuthenticator(), rules: any AccessRules = OpenRules(),
    limits: ServerLimits = ServerLimits(), clock: ServerClock = ServerClock(),
    host: String = "localhost", logger: Logger = Logger(label: "conifer.server")
  ) {
    self.authenticator = authenticator
    self.rules = rules
    self.limits = limits
    self.clock = clock
    self.host = host
    self.logger = logger
  }
}

/// The sizes that a server takes beside those that hold for every path, key and string: 32 keys in a
/// path, 768 bytes of UTF-8, 10 MiB a string.
public struct ServerLimits: Hashable, Sendable {
  /// The most bytes of one write, by the Realtime Database's estimate: 16 MiB.
  public var write: Int
  /// The most listens of one session.
  public var listens: Int
  /// The most bytes that a session may have written when it ends, about: 32 MiB.
  public var disconnect: Int
  /// The most bytes that all sessions together may have written when they end, about: 256 MiB.
  public var disconnects: Int

  /// The sizes that a server takes.
  ///
  /// - Parameters:
  ///   - write: the most bytes of one write.
  ///   - listens: the most listens of one session.
  ///   - disconnect: the most bytes that a session may have written when it ends.
  ///   - disconnects: the most bytes that all sessions together may have written when they end.
  public init(
    write: Int = 16 * 1024 * 1024, listens: Int = 100_000, disconnect: Int = 32 * 1024 * 1024,
    disconnects: Int = 256 * 1024 * 1024
  ) {
    self.write = write
    self.listens = listens
    self.disconnect = disconnect
    self.disconnects = disconnects
  }
}
