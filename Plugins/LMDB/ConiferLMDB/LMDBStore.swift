internal import CLMDB
public import ConiferKeyValue
internal import ConiferStorage
internal import Synchronization

/// An ordered store in one LMDB environment: a directory with `data.mdb` and `lock.mdb`, which are
/// LMDB's, and `owner`, the lock that keeps a second opener out.
///
/// - Commits: `.power` costs LMDB's two syncs. `.process` and `.relaxed` leave out the second one,
///   of the meta page: a power cut may undo the last such commits and harms nothing else. No commit
///   goes without its first sync, since LMDB may be left damaged by a power cut otherwise.
/// - Views are read transactions on any thread, without copies. A view that stays open makes the
///   file grow, and keeps a commit that must grow the map waiting.
/// - Opening never deletes and never maps a file that is shorter than its meta pages claim.
///   LMDB 0.9 has no page checksums: damage inside a page that keeps its shape goes unseen here.
public final class LMDBStore: OrderedStore {
  enum Phase {
    case open(LMDBEnvironment)
    /// With the environment that a view is still being read of, and that holds its locks until that ends.
    case suspended(left: LMDBEnvironment?)
    case closed
  }

  /// State of the committing thread.
  struct Writer {
    var last: UInt64 = 0
    var isPoisoned = false
    /// Whether a commit since the last full sync left out the sync of its meta page; true at opening,
    /// since the process that wrote the newest one may have died before its sync.
    var needsSync = true
    /// Whether LMDB's flag that leaves out the sync of the meta page is set.
    var skipsMetaSync = false
    /// Whether a commit met a full disk while a meta page was not synced. The system may have
    /// dropped that page, so only a new meta page makes earlier commits durable.
    var needsNewMeta = false
    /// The reserve for a full disk.
    var reserve: SpaceReserve
  }

  /// Keys up to 510 bytes (LMDB's 511 without the space byte) and values that fill one overflow
  /// page: 4,080 bytes where pages have 4 KiB.
  public let traits: StoreTraits
  /// The directory of the store.
  public let path: String
  let options: LMDBOptions
  let phase: Mutex<Phase>
  let writer: Mutex<Writer>

  /// Opens the store in a directory, or makes a new one when there is no `data.mdb` in it.
  ///
  /// - Parameters:
  ///   - path: the directory; made with those above it when missing.
  ///   - options: sizes of the map and the reader table.
  /// - Throws: `busy` with the owner's name, `denied`, `damaged`, `foreign`, `newerFormat`, `full`,
  ///   `io`. The files are left as they were.
  public init(at path: String, _ options: LMDBOptions = LMDBOptions()) throws(StoreError) {
    let environment = try Self.openEnvironment(path, options)
    self.path = path
    self.options = options
    traits = environment.traits
    phase = Mutex(.open(environment))
    writer = Mutex(Writer(reserve: SpaceReserve(in: path, bytes: options.reserve)))
  }

  deinit { try? close() }

  /// The environment, or the error why there is none.
  func environment() throws(StoreError) -> LMDBEnvironment {
    try phase.withLock { phase throws(StoreError) in
      switch phase {
      case .open(let environment): return environment
      case .closed: throw .lmdbClosed(path)
      case .suspended:
        throw StoreError(
          .suspended, "The store at \(path) is suspended. Call resume() first.")
      }
    }
  }

  /// A read transaction on the newest commit.
  ///
  /// - Throws: `full` (no reader slot left), `io`, `closed`, `suspended`.
  public func view() throws(StoreError) -> any OrderedView {
    LMDBView(try environment().read())
  }

  /// What the file takes: the pages of LMDB's two trees and its meta pages are live, all others up
  /// to the file's last page are free.
  ///
  /// - Throws: `io`, `closed`, `suspended`, `full` (no reader slot left).
  public func size() throws(StoreError) -> StoreSize {
    let environment = try environment()
    let reader = try environment.read()
    defer { reader.close() }
    guard let transaction = reader.enter() else { throw .lmdbClosed(path) }
    defer { reader.leave() }
    var pages = 2
    // Handle 0 is LMDB's own tree of free pages.
    for tree in [0, environment.tree] {
      var stat = MDB_stat()
      let result = mdb_stat(transaction, tree, &stat)
      guard result == 0 else { throw .lmdb(result, "measure", path) }
      pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages
    }
    guard case .success(let length) = System.length(path + "/data.mdb") else {
      throw Platform.error(System.lastError, "measure", path)
    }
    let live = pages * environment.pageSize
    // The length comes from the file, not from the writer's lock: its holder may be waiting for
    // this reader.
    let reserve = SpaceReserve(in: path, bytes: options.reserve).length
    return StoreSize(live: live, free: max(0, length - live), file: length + reserve)
  }

  /// Clears the slots of readers whose process died; LMDB reuses free pages by itself and never
  /// shortens its file, so nothing is ever left to do.
  ///
  /// - Throws: `io`, `closed`, `suspended`.
  public func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try writer.withLock { _ throws(StoreError) in
      let environment = try environment()
      let result = environment.clearDeadReaders()
      guard result == 0 else { throw .lmdb(result, "tidy", path) }
      return false
    }
  }

  /// Syncs, ends all views and closes the environment with its locks.
  ///
  /// Reads in progress, a check of the store too, end at their next row or page; it waits for them up to
  /// `LMDBOptions.patience`.
  ///
  /// - Throws: `io` (also when a read goes on all the same: it keeps the locks until it ends, and this may be called
  ///   again), `poisoned`, `closed`. The store is suspended all the same, unless it was closed.
  public func suspend() throws(StoreError) {
    try closeEnvironment { .suspended(left: $0) }
  }

  /// Takes the lock and opens the environment again, with the checks of the first opening.
  ///
  /// - Throws: `closed`, and what `init` throws; the store stays suspended then.
  public func resume() throws(StoreError) {
    try writer.withLock { writer throws(StoreError) in
      try phase.withLock { phase throws(StoreError) in
        switch phase {
        case .open: return
        case .closed: throw .lmdbClosed(path)
        case .suspended(let left):
          if let left, !left.retire(.zero) { throw stillRead }
          phase = .open(try Self.openEnvironment(path, options))
        }
      }
      // A failed sync stays in effect after the locks are released.
      writer = Writer(
        last: writer.last, isPoisoned: writer.isPoisoned,
        reserve: SpaceReserve(in: path, bytes: options.reserve))
    }
  }

  /// Syncs, ends all views, and closes the environment with its locks.
  ///
  /// Waits for reads on other threads up to `LMDBOptions.patience`; after that the files are
  /// released when the read ends.
  ///
  /// - Throws: `io`, `poisoned`; the files are released anyway.
  public func close() throws(StoreError) {
    do throws(StoreError) {
      try closeEnvironment { _ in .closed }
    } catch  where error.code == .closed {}
  }

  /// Syncs, enters a phase and closes the environment, also when the sync fails.
  ///
  /// - Parameter next: the phase, of the environment that is left open.
  private func closeEnvironment(
    _ next: (_ left: LMDBEnvironment?) -> Phase
  ) throws(StoreError) {
    try writer.withLock { writer throws(StoreError) in
      let (open, left) = try phase.withLock { phase throws(StoreError) in
        let found: (open: LMDBEnvironment?, left: LMDBEnvironment?)
        switch phase {
        case .closed: throw .lmdbClosed(path)
        case .suspended(let left): found = (nil, left)
        case .open(let environment): found = (environment, environment)
        }
        phase = next(found.left)
        return found
      }
      var failure: StoreError?
      if let open {
        do throws(StoreError) {
          try sync(&writer, open)
          truncatePreallocation(open)
        } catch {
          failure = error
        }
      }
      if let left {
        if left.retire(options.patience) {
          phase.withLock { $0 = next(nil) }
        } else {
          failure = failure ?? stillRead
        }
      }
      if let failure { throw failure }
    }
  }

  private var stillRead: StoreError {
    StoreError(
      .io,
      "A view of \(path) is still being read, so its locks are held until that read ends. End reads before "
        + "closing or suspending.")
  }
}
