#if RocksDB
  /// The settings by which a ``RocksDBStore`` uses memory, files and threads; the defaults suit an
  /// app.
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
    /// Bytes of the volume that commits leave free, since compaction and reopening need room: with less
    /// free, only commits that delete are taken.
    ///
    /// Up to 4 MiB of them are held in a file, which is removed when less than a sixteenth of this is
    /// free, or the volume is full.
    public var reserve = 16 << 20
    /// How long closing, suspending and reopening after a full disk wait for open views.
    public var patience = Duration.seconds(5)
    /// The bytes of RocksDB's list of its sorted files above which it begins a new one; for tests.
    var manifest = 1 << 20

    /// The defaults.
    public init() {}
  }
#endif
