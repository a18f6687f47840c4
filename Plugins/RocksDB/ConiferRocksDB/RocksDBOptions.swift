#if RocksDB
  /// How a ``RocksDBStore`` uses memory, files and threads; the defaults suit an app.
  public struct RocksDBOptions: Sendable, Equatable {
    /// Bytes of commits that are kept in memory and in the write-ahead log before they go to a
    /// sorted file.
    public var memtable = 4 << 20
    /// Bytes of blocks that are kept in memory for reading.
    public var blockCache = 4 << 20
    /// How many files may be open at once.
    public var openFiles = 64
    /// How many threads flush and compact, of all stores of the process together.
    public var backgroundThreads = 2
    /// Bytes of the volume that commits leave free: below it only those that delete are taken.
    /// Folding and reopening need room of their own. Up to 4 MiB as many are kept in a file, which is
    /// given up below a sixteenth of it, and when the volume is full.
    public var reserve = 16 << 20
    /// How long closing, suspending and going on after a full disk wait for open views.
    public var patience = Duration.seconds(5)

    /// The defaults.
    public init() {}
  }
#endif
