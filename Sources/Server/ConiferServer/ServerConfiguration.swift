public import ConiferStorage
public import Logging

/// A server's authenticator, rules, limits and clock.
public struct ServerConfiguration: Sendable {
  /// Verifies tokens.
  public var authenticator: any Authenticator
  /// The rules of databases without their own.
  public var rules: any AccessRules
  /// The limits on sizes.
  public var limits: ServerLimits
  /// The server's clock.
  public var clock: ServerClock
  /// The host that clients get for reconnecting.
  public var host: String
  /// Gets the errors that no client is answered: a failed commit, an onDisconnect operation that
  /// the rules refused. Data and tokens are never logged.
  public var logger: Logger
  /// Whether rules that `Server.storeRules` sets are kept in the database's store and set again when it is opened; false
  /// where they come from elsewhere, such as a file, which then counts.
  public var keepsRules = true
  /// Whether onDisconnect operations are stored with their database, so that those which a killed server leaves run when the
  /// next one opens it.
  public var keepsDisconnects = true
  /// Whether the server keeps the stores of its databases tidy by itself, while it writes nothing.
  public var housekeeping = Housekeeping.automatic
  /// The clock by which housekeeping waits.
  package var housekeepingClock = HousekeepingRunner.Clock.system

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

extension ServerConfiguration {
  /// What keeps a store tidy; nil when that is off.
  package func housekeeping(of backend: any StorageBackend) -> HousekeepingRunner? {
    guard housekeeping == .automatic else { return nil }
    return .of(backend, clock: housekeepingClock) { [logger] error in
      logger.warning(
        "the store could not be tidied; it is tried again later", metadata: ["cause": "\(error)"])
    }
  }
}

/// A server's limits on writes, listens and onDisconnect operations, in addition to the general
/// ones: 32 keys and 768 bytes of UTF-8 a path, 10 MiB a string.
public struct ServerLimits: Hashable, Sendable {
  /// The maximum size of one write in bytes, by the Realtime Database's estimate: 16 MiB.
  public var write: Int
  /// The maximum number of listens of one session.
  public var listens: Int
  /// The approximate maximum size of one session's onDisconnect operations: 32 MiB.
  public var disconnect: Int
  /// The approximate maximum size of all sessions' onDisconnect operations together: 256 MiB.
  public var disconnects: Int

  /// The sizes that a server takes.
  ///
  /// - Parameters:
  ///   - write: the most bytes of one write.
  ///   - listens: the most listens of one session.
  ///   - disconnect: the maximum bytes of one session's onDisconnect operations.
  ///   - disconnects: the maximum bytes of all sessions' onDisconnect operations.
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
