#if RocksDB
  internal import CRocksDB
  public import ConiferKeyValue
  internal import ConiferStorage
  internal import Synchronization

  /// An ordered store in one RocksDB database: a directory with RocksDB's files, and beside them
  /// `owner` (the lock that keeps a second opener out), `conifer.rocksdb` (the format) and, while the
  /// store is closed, `conifer.files` (what an orderly close left).
  ///
  /// - Commits go to RocksDB's write-ahead log; `.power` syncs it, `.process` and `.relaxed` hand
  ///   it to the operating system. The log is synced before a new one begins. After a crash the
  ///   store itself cuts off the unsynced end, since RocksDB would continue to read after a gap.
  /// - Views are snapshots, read without copies on any thread.
  /// - Deleted and replaced rows take space until RocksDB compacts them away; `tidy` starts that.
  public final class RocksDBStore: OrderedStore {
    enum Phase {
      case open(Engine, OwnerLock)
      /// The database could not be opened again after the disk was full; the lock is still ours.
      case lost(StoreError, OwnerLock)
      case suspended
      case closed
    }

    /// State of the committing thread.
    struct Writer {
      var last: UInt64 = 0
      /// The newest sequence numbers: acknowledged, synced, and before the log's first record.
      var sequence: UInt64 = 0
      var synced: UInt64 = 0
      var base: UInt64 = 0
      /// The error that blocks commits until the store is reopened.
      var poison: StoreError?
      /// Whether RocksDB met a full disk; it refuses all writes until the database is reopened.
      var needsReopening = false
      /// Whether the reserve was used, or could not be made: only commits that free space are
      /// accepted.
      var isShortOfSpace = false
      /// Whether rows were removed or replaced since the last flush.
      var needsFlush = false
      /// Commits since the database was opened, until RocksDB compacts by itself; nil then. It does so from the second
      /// one on, as closing makes the only one of a time in which the store was read alone, and from the opening on
      /// where many files lie at the top level.
      private var commitsAtRest: Int? = 0
      /// Pieces of the key range that `tidy` has still to compact.
      var ranges: [(from: Bytes, to: Bytes)] = []

      /// Resets the state for a database that was just opened: its log is new, and all that it
      /// holds is synced.
      mutating func begin(_ engine: Engine) {
        sequence = engine.sequence
        synced = sequence
        base = sequence
        needsReopening = false
        isShortOfSpace = engine.isShortOfSpace || isShortOfSpace
        commitsAtRest = 0
      }

      /// A database was opened, or a commit made.
      ///
      /// - Returns: whether RocksDB is to compact by itself from now on.
      mutating func endsRest(_ engine: Engine, isCommit: Bool) -> Bool {
        guard let commits = commitsAtRest, !engine.isReadOnly, !isShortOfSpace, !needsReopening
        else {
          return false
        }
        let isOver = isCommit ? commits > 0 : engine.filesAtTop >= Self.mostFilesAtTop
        commitsAtRest = isOver ? nil : commits + (isCommit ? 1 : 0)
        return isOver
      }

      private static let mostFilesAtTop = 16
    }

    /// Keys of up to 64 KiB; values of some kilobytes work best. A commit of a small row writes
    /// little more than the row.
    public let traits = StoreTraits(
      longestKey: 1 << 16, bestValueSize: 16 << 10, writeQuantum: 256, strongest: System.strongest,
      isPersistent: true)
    /// The directory of the store.
    public let path: String
    /// How the store was tuned when it was opened.
    public let options: RocksDBOptions
    let phase: Mutex<Phase>
    let writer: Mutex<Writer>
    /// Bytes of live rows, as the last commit left them.
    let live: Atomic<Int>

    /// Opens the store in a directory, or makes a new one in an empty directory.
    ///
    /// - Parameters:
    ///   - path: the directory; made with those above it when missing.
    ///   - options: sizes of memory, files and caches.
    /// - Throws: `busy` with the owner's name, `denied`, `damaged`, `foreign`, `newerFormat`, `full`,
    ///   `io`. Of the data nothing is deleted then.
    public init(
      at path: String, _ options: RocksDBOptions = RocksDBOptions()
    ) throws(StoreError) {
      try Platform.makeDirectory(path)
      let lock = try OwnerLock(path: path + "/owner", for: Marker.files)
      let engine = try Self.openEngine(path, options)
      lock.recordKind()
      let record = try StoreRecord(engine)
      var writer = Writer()
      writer.begin(engine)
      if !engine.isShortOfSpace { writer.isShortOfSpace = !Reserve.fill(path, options) }
      // What keeps it from compacting keeps it from writing too, which the next commit tells.
      if writer.endsRest(engine, isCommit: false) { _ = engine.beginCompacting() }
      self.path = path
      self.options = options
      self.writer = Mutex(writer)
      live = Atomic(record.live)
      phase = Mutex(.open(engine, lock))
    }

    deinit { try? close() }

    /// The open database, or the error why there is none.
    func engine() throws(StoreError) -> Engine {
      try phase.withLock { phase throws(StoreError) in try opened(phase) }
    }

    private func opened(_ phase: Phase) throws(StoreError) -> Engine {
      switch phase {
      case .open(let engine, _): return engine
      case .lost(let error, _): throw error
      case .closed: throw .rocksDBClosed(path)
      case .suspended:
        throw StoreError(.suspended, "The store at \(path) is suspended. Call resume() first.")
      }
    }

    /// A frozen view of the newest commit: a RocksDB snapshot.
    ///
    /// While it is held, rows that are deleted or replaced keep their space.
    ///
    /// - Throws: `closed`, `suspended`; `full` and `io` when the database could not be opened again
    ///   after the disk was full.
    public func view() throws(StoreError) -> any OrderedView {
      // The reader begins under the lock, so that it does not meet a database that is being
      // reopened.
      try phase.withLock { phase throws(StoreError) in RocksDBView(try opened(phase).read()) }
    }

    /// What the files take. `live` counts the rows with their keys, `free` is what compacting gives
    /// back.
    ///
    /// - Throws: `io`, `closed`, `suspended`.
    public func size() throws(StoreError) -> StoreSize {
      _ = try engine()
      var file = 0
      for found in try System.files(in: path) where found.name != Reserve.name {
        file += found.length
      }
      let live = min(live.load(ordering: .acquiring), file)
      return StoreSize(live: live, free: file - live, file: file)
    }

    /// Makes all commits durable, ends all views and closes the database with its locks.
    ///
    /// - Throws: `io`, `poisoned`, `full`, `closed`. The store is suspended all the same, unless it
    ///   was closed.
    public func suspend() throws(StoreError) { try closeDatabase(to: .suspended) }

    /// Takes the lock and opens the database again, with the checks of the first opening.
    ///
    /// - Throws: `closed`, and what `init` throws; the store stays suspended then.
    public func resume() throws(StoreError) {
      try writer.withLock { writer throws(StoreError) in
        try phase.withLock { phase throws(StoreError) in
          switch phase {
          case .open, .lost: return
          case .closed: throw .rocksDBClosed(path)
          case .suspended: break
          }
          let lock = try OwnerLock(path: path + "/owner", for: Marker.files)
          let engine = try Self.openEngine(path, options)
          lock.recordKind()
          live.store(try StoreRecord(engine).live, ordering: .releasing)
          // A failed sync stays in effect after the locks are released.
          writer.begin(engine)
          if !engine.isShortOfSpace { writer.isShortOfSpace = !Reserve.fill(path, options) }
          if writer.endsRest(engine, isCommit: false) { _ = engine.beginCompacting() }
          phase = .open(engine, lock)
        }
      }
    }

    /// Makes all commits durable, ends all views, and closes the database with its locks.
    ///
    /// Waits for reads on other threads up to `RocksDBOptions.patience`; after that the files are
    /// released when the read ends.
    ///
    /// - Throws: `io`, `poisoned`, `full`; the files are released anyway.
    public func close() throws(StoreError) {
      do throws(StoreError) {
        try closeDatabase(to: .closed)
      } catch  where error.code == .closed {}
    }

    /// Flushes, enters a phase and closes the database, also when the flush fails.
    private func closeDatabase(to next: Phase) throws(StoreError) {
      try writer.withLock { writer throws(StoreError) in
        let before = try phase.withLock { phase throws(StoreError) -> Phase in
          if case .closed = phase { throw .rocksDBClosed(path) }
          defer { phase = next }
          return phase
        }
        switch before {
        case .suspended, .closed: return
        case .lost(_, let lock):
          defer { lock.release() }
          let failure = makeDurable(&writer, nil)
          Reserve.keep(path, options)
          if let failure { throw failure }
        case .open(let engine, let lock):
          writer.ranges = []
          var failure = makeDurable(&writer, engine)
          let isShut = engine.retire(options.patience)
          // After a full disk the log may end in a part of a refused commit, so no list of files is
          // written.
          if isShut, failure == nil, !engine.isReadOnly, !writer.needsReopening {
            do throws(StoreError) {
              try Inventory.write(path)
            } catch { if error.code != .full { failure = poisoned(error, &writer) } }
          }
          // Another program may take what closing freed, and the next opening needs some of it.
          if isShut { Reserve.keep(path, options) }
          lock.release()
          if let failure { throw failure }
          if !isShut {
            throw StoreError(
              .io,
              "A view of \(path) is still being read, so its files are held until that read ends. "
                + "End reads before closing or suspending.")
          }
        }
      }
    }

    /// Makes all commits durable: by a flush if there is room for a sorted file, otherwise by
    /// syncing the log. Nil on success.
    ///
    /// - Parameter engine: the database; nil when there is none.
    private func makeDurable(_ writer: inout Writer, _ engine: Engine?) -> StoreError? {
      if let poison = writer.poison { return .rocksDBPoisoned(path, poison.description) }
      if let engine, !engine.isReadOnly, !writer.needsReopening, writer.sequence != writer.base {
        guard let words = engine.flush(waits: true) else {
          writer.synced = writer.sequence
          return nil
        }
        let error = failed(words, &writer)
        if writer.poison != nil { return error }
      }
      do throws(StoreError) {
        try sync(&writer, engine)
        return nil
      } catch { return error }
    }
  }
#endif
