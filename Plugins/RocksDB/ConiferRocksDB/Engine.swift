#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue
  internal import Synchronization

  /// An open RocksDB database, and the gate between its views and its closing.
  final class Engine: @unchecked Sendable {
    // Unchecked: RocksDB's handle is safe to share, and closed under `gate` when no view is left.

    private struct Gate {
      var readers: [ObjectIdentifier: Reader] = [:]
      /// No new views; the last reader to end closes the database.
      var isRetired = false
      var isShut = false
    }

    let path: String
    let handle: OpaquePointer
    let tuning: Tuning
    /// Whether it was opened for reading only, since the disk has no room for more.
    let isReadOnly: Bool
    /// Whether it was opened on a full disk, with the bytes of the reserve.
    let isShortOfSpace: Bool
    private let gate = Mutex(Gate())

    /// Opens the database in a directory.
    ///
    /// - Throws: the error that RocksDB's message stands for.
    init(
      _ path: String, _ options: RocksDBOptions, creates: Bool = false, isReadOnly: Bool = false,
      isShortOfSpace: Bool = false, salvages: Bool = false
    ) throws(StoreError) {
      let tuning = Tuning(
        options, creates: creates, isShortOfSpace: isShortOfSpace, salvages: salvages)
      let (opened, words) = withErrorMessage { error in
        isReadOnly
          ? rocksdb_open_for_read_only(tuning.options, path, 0, error)
          : rocksdb_open(tuning.options, path, error)
      }
      if let words { throw .rocksDB(words, "open", path) }
      guard let opened else { throw .rocksDB("no handle", "open", path) }
      self.path = path
      self.tuning = tuning
      self.isReadOnly = isReadOnly
      self.isShortOfSpace = isShortOfSpace
      handle = opened
      if !isReadOnly { Self.removeDrafts(path) }
    }

    /// Removes unfinished drafts of RocksDB's options file, which it begins at each opening and
    /// cannot finish; see `Tuning`.
    private static func removeDrafts(_ path: String) {
      let files = (try? System.files(in: path)) ?? []
      for file in files where file.name.hasPrefix("OPTIONS-") && file.name.hasSuffix(".dbtmp") {
        _ = System.unlink(path + "/" + file.name)
      }
    }

    deinit {
      if !gate.withLock({ $0.isShut }) { rocksdb_close(handle) }
    }

    /// A reader of the newest commit.
    ///
    /// - Throws: `closed`.
    func read() throws(StoreError) -> Reader {
      try gate.withLock { gate throws(StoreError) in
        if gate.isRetired { throw .rocksDBClosed(path) }
        let reader = Reader(self)
        gate.readers[ObjectIdentifier(reader)] = reader
        return reader
      }
    }

    /// Ends a reader; called once for each reader, by the last thread that uses it.
    func end(_ reader: Reader) {
      gate.withLock { gate in
        reader.release()
        gate.readers[ObjectIdentifier(reader)] = nil
        shutIfDrained(&gate)
      }
    }

    /// Waits until no view is open, then closes the database.
    ///
    /// - Returns: whether it is closed now; nothing has changed otherwise.
    func drain(_ patience: Duration) -> Bool {
      waitShut(patience) { gate in
        guard gate.readers.isEmpty else { return }
        gate.isRetired = true
      }
    }

    /// Ends all views, waits for reads in progress, and closes the database.
    ///
    /// - Parameter patience: how long to wait. After that the last view to end closes the database.
    /// - Returns: whether it is closed now.
    func retire(_ patience: Duration) -> Bool {
      let readers = gate.withLock { gate in
        gate.isRetired = true
        return Array(gate.readers.values)
      }
      for reader in readers { reader.close() }
      return waitShut(patience) { _ in }
    }

    private func waitShut(_ patience: Duration, _ body: (inout Gate) -> Void) -> Bool {
      let start = ContinuousClock.now
      while true {
        let isShut = gate.withLock { gate in
          body(&gate)
          shutIfDrained(&gate)
          return gate.isShut
        }
        if isShut { return true }
        if ContinuousClock.now - start >= patience { return false }
        System.pause()
      }
    }

    private func shutIfDrained(_ gate: inout Gate) {
      guard gate.isRetired, !gate.isShut, gate.readers.isEmpty else { return }
      gate.isShut = true
      // Otherwise closing would wait for a compaction in progress.
      rocksdb_cancel_all_background_work(handle, 1)
      rocksdb_close(handle)
    }

    /// The newest sequence number; each edit takes one.
    var sequence: UInt64 { rocksdb_get_latest_sequence_number(handle) }

    /// An integer property of RocksDB; 0 when it has no such property.
    func number(_ property: String) -> Int {
      var number: UInt64 = 0
      guard rocksdb_property_int(handle, property, &number) == 0 else { return 0 }
      return Int(clamping: number)
    }

    /// Writes a batch; nil on success, otherwise RocksDB's message.
    func write(_ batch: OpaquePointer, syncs: Bool) -> String? {
      withErrorMessage { rocksdb_write(handle, syncs ? tuning.synced : tuning.unsynced, batch, $0) }
        .1
    }

    /// Syncs the log; nil on success, otherwise RocksDB's message.
    func syncLog() -> String? { withErrorMessage { rocksdb_flush_wal(handle, 1, $0) }.1 }

    /// Begins a new log and memtable, and flushes the old memtable to a sorted file; nil on
    /// success, otherwise RocksDB's message.
    ///
    /// - Parameter waits: whether to wait for the file. RocksDB's own wait never ends when a
    ///   compaction has run out of space meanwhile, so its properties are polled instead.
    func flush(waits: Bool) -> String? {
      if let words = backgroundFailure() { return words }
      if let words = withErrorMessage({ rocksdb_flush(handle, tuning.flushing, $0) }).1 {
        return words
      }
      while waits, number("rocksdb.num-immutable-mem-table") > 0 {
        if let words = backgroundFailure() { return words }
        System.pause()
      }
      return nil
    }

    /// How many files lie at the top level, of which each read may have to look into every one.
    var filesAtTop: Int {
      guard let text = rocksdb_property_value(handle, "rocksdb.num-files-at-level0") else {
        return 0
      }
      defer { rocksdb_free(text) }
      return Int(String(cString: text)) ?? 0
    }

    /// Lets RocksDB compact by itself, which `Tuning` keeps it from at first; nil, or RocksDB's words.
    func beginCompacting() -> String? {
      let words = "disable_auto_compactions".withCString { name in
        "false".withCString { value in
          var (names, values) = ([Optional(name)], [Optional(value)])
          return withErrorMessage { rocksdb_set_options(handle, 1, &names, &values, $0) }.1
        }
      }
      // It also tries to tell its options anew.
      Self.removeDrafts(path)
      return words
    }

    /// Whether a flush or a compaction failed.
    var hasBackgroundFailure: Bool { number("rocksdb.background-errors") > 0 }

    /// RocksDB's message about what stopped flushing or compacting; nil when they continue.
    func backgroundFailure() -> String? {
      guard hasBackgroundFailure else { return nil }
      // RocksDB returns the error that stops background work with every write. When a write
      // succeeds, the background error is a lack of space that stops only compaction.
      let batch = rocksdb_writebatch_create()
      defer { rocksdb_writebatch_destroy(batch) }
      return withErrorMessage { rocksdb_write(handle, tuning.unsynced, batch, $0) }.1
        ?? "IO error: No space left on device: while compacting"
    }
  }
#endif
