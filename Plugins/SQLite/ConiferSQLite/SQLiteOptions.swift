/// The tuning options of a SQLite store; the defaults suit a phone.
public struct SQLiteOptions: Sendable, Equatable {
  /// Bytes of pages that the writing connection keeps in memory; a larger batch spills to the log.
  public var writerCache = 4 << 20
  /// Bytes of pages that each reading connection keeps in memory.
  public var readerCache = 1 << 20
  /// After how many pages (4,096 bytes each) the write-ahead log is written into the database.
  public var checkpointPages = 1000
  /// To how many bytes the log file is cut after a checkpoint; what is kept is written again
  /// without asking the file system for space.
  public var logKept = 4 << 20
  /// How many views may be open at once; one more is refused with `full`.
  public var viewsAtMost = 64
  /// How many idle reading connections are kept for the next view.
  public var readersKept = 4
  /// Bytes of the database that are mapped into memory for reading; 0 for none. A mapped file that
  /// somebody cuts while it is open ends the process with SIGBUS.
  public var mapped = 0
  /// Whether deleted content is overwritten with zeros, at the cost of more writes.
  public var wipesDeleted = false
  /// Bytes set aside on disk, so that opening and deleting go on when it is full; 0 for none.
  public var reserve = 512 << 10
  /// The name of a registered SQLite VFS, for example an encrypting one; nil for the system's.
  public var vfs: String?

  /// The defaults.
  public init() {}
}
