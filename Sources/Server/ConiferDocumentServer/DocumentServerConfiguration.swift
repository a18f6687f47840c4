public import ConiferDocument
public import ConiferStorage
public import Logging

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The storage, access rules, history limits and clock of a server of documents.
public struct DocumentServerConfiguration: Sendable {
  /// Where the databases are kept; opened as an authority without a budget, whatever its options say.
  public var storage: StorageConfiguration
  /// Who may do what.
  public var access: DocumentAccess
  /// How many changes the server remembers. Streams that broke resume from them.
  public var history: DocumentHistoryLimits
  /// The time, which may jump: commit times only grow all the same.
  public var clock: @Sendable () -> Timestamp
  /// Gets what no client is answered, such as a failed commit; data and tokens are never in it.
  public var logger: Logger
  /// Whether the server keeps its store tidy by itself, while nothing else is asked of it.
  public var housekeeping = Housekeeping.automatic
  /// The clock by which housekeeping waits.
  package var housekeepingClock = HousekeepingRunner.Clock.system
  /// What clients over a network may take up.
  package var bounds = DocumentServerBounds()

  /// A configuration.
  ///
  /// - Parameters:
  ///   - storage: where the databases are kept.
  ///   - access: who may do what.
  ///   - history: how many changes the server remembers.
  ///   - clock: the time; the system's unless told.
  ///   - logger: gets what no client is answered.
  public init(
    storage: StorageConfiguration = .memory, access: DocumentAccess = .open,
    history: DocumentHistoryLimits = DocumentHistoryLimits(),
    clock: @escaping @Sendable () -> Timestamp = DocumentServerConfiguration.systemTime,
    logger: Logger = Logger(label: "conifer.documents.server")
  ) {
    self.storage = storage
    self.access = access
    self.history = history
    self.clock = clock
    self.logger = logger
  }

  /// The system's time, to the microsecond.
  public static func systemTime() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let seconds = min(
      max(Int64(time.tv_sec), Timestamp.range.lowerBound), Timestamp.range.upperBound)
    return Timestamp(unchecked: seconds, Int32(time.tv_nsec)).truncated
  }
}

/// What clients over a network may take up, whatever they ask for.
package struct DocumentServerBounds: Sendable {
  /// Databases that the store may have for one more to be made.
  package var databases = 10_000
  /// Databases that are in use at a time.
  package var used = 1000
  /// Databases that nobody uses and that stay in memory.
  package var idle = 64
  /// About how many bytes the histories of these take; of a database that leaves, the store has its history.
  package var histories = 64 << 20
  /// About how many bytes of memory the documents take that one request reads, its answer included.
  package var read = 256 << 20
  /// The same of all requests together.
  package var reads = 512 << 20
  /// Transactions that were begun by a request.
  package var transactions = TransactionLimits()

  package init() {}
}

/// The limits on the history of changes by which a server resumes listens. A listen that resumes
/// from before the oldest remembered change gets all its documents again.
public struct DocumentHistoryLimits: Sendable, Hashable {
  /// Changes of documents: 10,000 unless told.
  public var changes: Int
  /// Bytes of the documents before and after these changes, as the service counts them: 16 MiB unless told.
  public var bytes: Int

  /// Limits.
  public init(changes: Int = 10_000, bytes: Int = 16 << 20) {
    self.changes = changes
    self.bytes = bytes
  }
}
