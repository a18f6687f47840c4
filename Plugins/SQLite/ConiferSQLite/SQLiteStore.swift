public import ConiferKeyValue
import ConiferStorage
import Synchronization

/// An ordered store in one SQLite database with a write-ahead log.
///
/// A directory holds `conifer.sqlite`, SQLite's own files beside it, and `owner`, the lock by which
/// one opener owns the store. One connection writes and checkpoints; views read through others.
/// Commits at `.process` and `.relaxed` are in the log when `apply` returns; a `.power` commit is
/// synced, and with it every earlier one.
public final class SQLiteStore: OrderedStore {
  /// Keys of up to 4,095 bytes (longer ones would slow down their neighbours), values up to
  /// SQLite's limit of about a gigabyte, and commits that survive power loss.
  public let traits: StoreTraits = SQLiteStore.traits

  static let traits = StoreTraits(
    longestKey: 4095, bestValueSize: 16 << 10, writeQuantum: 8192, strongest: .power,
    isPersistent: true)

  /// The directory of the store.
  public let path: String
  /// How the store was tuned when it was opened.
  public let options: SQLiteOptions

  private struct Opened {
    let lock: OwnerLock
    let writer: Writer
  }

  private enum Phase {
    case open(Opened)
    case suspended
    case closed
  }

  private struct State {
    var phase: Phase
    var commit: UInt64 = 0
    /// The newest commit that survives power loss.
    var hardened: UInt64 = 0
    /// The error that blocks commits until the store is reopened; suspending does not clear it.
    var poison: StoreError?

    /// The writer of an open store that is sound.
    func writer() throws(StoreError) -> Writer {
      switch phase {
      case .open(let opened):
        if let poison = poison ?? opened.writer.poison { throw Self.refusal(poison) }
        return opened.writer
      case .suspended: throw StoreError.storeSuspended
      case .closed: throw StoreError.storeClosed
      }
    }

    static func refusal(_ cause: StoreError) -> StoreError {
      StoreError(
        .poisoned,
        "An earlier write or sync failed, so the newest commits may not be on the disk: close the store "
          + "and open it again.", cause: cause.description)
    }
  }

  private let file: DatabaseFile
  private let pool: ReaderPool
  private let state: Mutex<State>

  /// Opens a store, making its directory and database when there are none.
  ///
  /// Opening recovers what a crash left in the write-ahead log and deletes nothing.
  ///
  /// - Parameters:
  ///   - path: of the store's directory.
  ///   - options: cache and checkpoint sizes; the defaults suit a phone.
  /// - Throws: `busy` (somebody owns the store), `foreign` (another kind of file or database),
  ///   `newerFormat`, `damaged`, `denied`, `deviceLocked`, `full`, `io`, `unsupported` (the volume
  ///   cannot share memory, as a write-ahead log needs).
  public convenience init(
    at path: String, _ options: SQLiteOptions = SQLiteOptions()
  ) throws(StoreError) {
    try self.init(at: path, options, customSync: Platform.customSync)
  }

  /// Opens a store with a custom sync of its files.
  init(
    at path: String, _ options: SQLiteOptions, customSync: CustomSync?
  ) throws(StoreError) {
    file = DatabaseFile(directory: path, options: options, customSync: customSync)
    pool = ReaderPool(file)
    state = Mutex(State(phase: .open(try Self.open(path, file, pool))))
    self.path = path
    self.options = options
  }

  deinit { try? close() }

  private static func open(
    _ path: String, _ file: DatabaseFile, _ pool: ReaderPool
  ) throws(StoreError) -> Opened {
    try Platform.makeDirectory(path)
    let lock = try OwnerLock(path: path + "/owner", for: DatabaseFile.files)
    var reserve = SpaceReserve(in: path, bytes: file.options.reserve)
    let writer: Writer
    do throws(StoreError) {
      do throws(StoreError) {
        writer = try open(file, pool, reserve)
      } catch {
        // SQLite needs a log and its index to read.
        guard error.code == .full, reserve.release() else { throw error }
        writer = try open(file, pool, reserve)
      }
    } catch {
      lock.release()
      throw error
    }
    lock.recordKind()
    return Opened(lock: lock, writer: writer)
  }

  private static func open(
    _ file: DatabaseFile, _ pool: ReaderPool, _ reserve: SpaceReserve
  ) throws(StoreError) -> Writer {
    try file.prepare()
    // Commits that a killed process left unsynced in the log become durable here. The log is not
    // open elsewhere yet, so closing a descriptor of it releases no lock.
    if try Platform.length(of: file.log) > 0 { try Platform.syncFile(file.log) }
    try file.makeLog()
    return try Writer(file, pool, reserve)
  }

  /// Applies a batch in one transaction and returns when it is as durable as asked.
  ///
  /// - Throws: `tooLarge` (a key above `traits.longestKey`, a value above SQLite's limit), `full`,
  ///   `io`, `poisoned`, `closed`, `suspended`, `damaged` (a page that the change touches), `busy`
  ///   (another program writes to the database). Nothing has changed then, unless the code is
  ///   `poisoned` or `io`, where reopening tells.
  public func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try state.withLock { (state: inout State) throws(StoreError) -> CommitID in
      let writer = try state.writer()
      for case .put(_, let key, _) in batch.edits where key.count > traits.longestKey {
        throw StoreError(
          .tooLarge,
          "A key of \(key.count) bytes is above the limit of \(traits.longestKey): shorten it.")
      }
      try writer.apply(batch, durability)
      state.commit += 1
      if !writer.isSoft { state.hardened = state.commit }
      return CommitID(rawValue: state.commit)
    }
  }

  /// Makes every commit up to this one survive power loss, by syncing the log once.
  ///
  /// - Throws: `io`, `poisoned`, `closed`, `suspended`.
  public func harden(_ upTo: CommitID) throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      let writer = try state.writer()
      guard upTo.rawValue > state.hardened else { return }
      try writer.harden()
      state.hardened = state.commit
    }
  }

  /// A frozen view of the newest commit: a read transaction on a connection of its own.
  ///
  /// While it is held no checkpoint goes past it, so the log grows with every commit.
  ///
  /// - Throws: `io`, `closed`, `suspended`, `full` (more than `options.viewsAtMost` are open).
  public func view() throws(StoreError) -> any OrderedView {
    SQLiteView(try pool.lease(atMost: options.viewsAtMost))
  }

  /// The sizes: pages by the database's own count, and the lengths of the files.
  ///
  /// - Throws: `io`, `closed`, `suspended`.
  public func size() throws(StoreError) -> StoreSize {
    let lease = try pool.lease(atMost: .max)
    defer { lease.end() }
    let reader = try lease.enter()
    defer { lease.leave() }
    let pages = try reader.connection.integer("PRAGMA page_count")
    let free = try reader.connection.integer("PRAGMA freelist_count")
    return StoreSize(
      live: (pages - free) * DatabaseFile.pageSize, free: free * DatabaseFile.pageSize,
      file: try file.length() + Platform.length(of: path + "/reserve"))
  }

  /// Gives free pages back to the file system, then checkpoints and cuts the log.
  ///
  /// - Returns: whether free pages are left. A log that an open view holds is not counted: it is
  ///   checkpointed by later commits, or the next `tidy`.
  /// - Throws: `io`, `full`, `poisoned`, `closed`, `suspended`.
  public func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try state.withLock { (state: inout State) throws(StoreError) -> Bool in
      let writer = try state.writer()
      let isMore = try writer.tidy(slice)
      if !writer.isSoft { state.hardened = state.commit }
      return isMore
    }
  }

  /// Reads the whole database through its log and checks it, as SQLite's `integrity_check` does, then
  /// the checksums of the log's frames that count.
  ///
  /// It reads every page; any thread may call it. Pages have no checksums: only the checksums of
  /// records above reveal a changed value.
  ///
  /// - Throws: `io`, `suspended`, `closed` (also when the store is suspended or closed meanwhile).
  public func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    for words in try checkPages() {
      found(StoreFinding(file: file.path, offset: 0, bytes: 0, words: words))
    }
    try state.withLock { (state: inout State) throws(StoreError) in
      guard case .open(let opened) = state.phase else { return }
      // No commit is in progress here, so every counted frame is complete.
      let counted = opened.writer.framesInLog
      guard counted > 0, let sound = FrameChain.soundFrames(file.log, atMost: counted) else {
        return
      }
      if sound < counted {
        found(
          StoreFinding(
            file: file.log, offset: 0, bytes: 0,
            words: "frame \(sound + 1) of the \(counted) that hold commits has a wrong checksum"))
      }
    }
    return true
  }

  /// What `integrity_check` finds. Nothing is on lease when it returns: who suspends the store waits for leases.
  private func checkPages() throws(StoreError) -> [String] {
    let lease = try pool.lease(atMost: .max)
    defer { lease.end() }
    let reader = try lease.enter()
    defer { lease.leave() }
    let found = try reader.connection.findings(atMost: 100)
    // An interrupted check has not looked at everything.
    guard !lease.isEnding else { throw .viewClosed }
    return found
  }

  /// Makes all commits durable, ends the open views, closes the database and releases every lock.
  /// Until `resume`, all calls but `resume` and `close` throw `suspended`.
  ///
  /// It interrupts reads in progress, a check of the store too, and waits for them up to a second.
  ///
  /// - Throws: `io` (also when a read goes on all the same: it keeps SQLite's locks until it ends, and this may be called
  ///   again), `poisoned`, `closed`; the store is suspended anyway.
  public func suspend() throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      switch state.phase {
      case .suspended:
        guard pool.shut(.suspended) else { throw stillRead }
      case .closed: throw StoreError.storeClosed
      case .open: try end(&state, .suspended)
      }
    }
  }

  /// Takes the lock again after `suspend`, checks the files anew and opens them.
  ///
  /// - Throws: `busy` (another process has opened the store meanwhile), `closed`, and whatever
  ///   opening throws.
  public func resume() throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      switch state.phase {
      case .open: return
      case .closed: throw StoreError.storeClosed
      case .suspended:
        state.phase = .open(try Self.open(path, file, pool))
        pool.reopen()
      }
    }
  }

  /// Makes all commits durable, checkpoints the log, and closes; a second call does nothing.
  ///
  /// It interrupts reads in progress and waits for them up to a second; open views throw `closed` at their next read.
  ///
  /// - Throws: `io`, `poisoned`; the files are released anyway.
  public func close() throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      switch state.phase {
      case .closed: return
      case .suspended:
        state.phase = .closed
        guard pool.shut(.closed) else { throw stillRead }
      case .open: try end(&state, .closed)
      }
    }
  }

  /// Ends the views, then the writer as the last connection, then the lock.
  private func end(_ state: inout State, _ next: ReaderPool.Phase) throws(StoreError) {
    guard case .open(let opened) = state.phase else { return }
    let known = state.poison ?? opened.writer.poison
    state.phase = next == .closed ? .closed : .suspended
    let isQuiet = pool.shut(next)
    defer { opened.lock.release() }
    do throws(StoreError) {
      try opened.writer.close()
      state.hardened = state.commit
    } catch {
      state.poison = error
      throw known == nil ? error : State.refusal(error)
    }
    if let known { throw State.refusal(known) }
    guard isQuiet else { throw stillRead }
  }

  private var stillRead: StoreError {
    StoreError(
      .io,
      "A view of \(path) is still being read, so SQLite's locks are held until that read ends. End reads "
        + "before closing or suspending.")
  }
}

extension SQLiteStore {
  /// None: SQLite leaves nothing out at opening; damage is reported when it is read.
  public var findings: [StoreFinding] { [] }

  /// Does nothing: there are no findings.
  public func acknowledgeFindings() throws(StoreError) {}
}
