public import ConiferKeyValue
import ConiferStorage
import Synchronization

/// An ordered store in an append-only log of segments with an index of sorted tables.
///
/// A commit is one frame: one write, and one sync when it must survive power loss. Everything that
/// a commit changes stands in that frame, the queue beside the cache. A directory holds the manifest,
/// segments, tables, and `owner`, the lock by which one opener owns the store;
/// `Docs/Formats/Log.md` describes every byte.
public final class LogStore: OrderedStore {
  /// Keys of up to 65,536 bytes (an index block holds whole keys), commits of up to 2 GB, and
  /// durability up to power loss.
  public let traits: StoreTraits = LogStore.traits

  static let traits = StoreTraits(
    longestKey: 1 << 16, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .power,
    isPersistent: true)

  /// The directory of the store.
  public let path: String
  /// How the store was tuned when it was opened.
  public let options: LogOptions

  private let files: any LogFileSystem
  let state: Mutex<State>
  private let readState: Mutex<ReadState>

  /// Opens a store, making its directory when there is none.
  ///
  /// Opening replays the end of the journal and removes only the leftovers of an interrupted fold.
  ///
  /// - Parameters:
  ///   - path: the store's directory.
  ///   - options: sizes; the defaults suit a phone.
  /// - Throws: `busy` (somebody owns the store), `foreign` (other files, or those of another
  ///   store), `newerFormat`, `damaged` (a file is missing, cut, or its checksum is wrong),
  ///   `denied`, `full`, `io`.
  public convenience init(
    at path: String, _ options: LogOptions = LogOptions()
  ) throws(StoreError) {
    try self.init(at: path, options, files: SystemFiles())
  }

  /// Opens a store over a given file system; tests inject faults through it.
  package init(
    at path: String, _ options: LogOptions, files: any LogFileSystem
  ) throws(StoreError) {
    let opened = try Self.open(path, options, files)
    self.path = path
    self.options = options
    self.files = files
    state = Mutex(State(phase: .open(opened)))
    readState = Mutex(.open(opened.engine.published, LogLease()))
  }

  deinit { try? close() }

  private static func open(
    _ path: String, _ options: LogOptions, _ files: any LogFileSystem
  ) throws(StoreError) -> Opened {
    try files.makeDirectory(path)
    let lock = try files.own(path + "/owner")
    let engine: Engine
    do throws(StoreError) {
      engine = try Engine.open(path, options.checked, files)
    } catch {
      lock?.release()
      throw error
    }
    // With a poison, the manifest's name may not be durable.
    if engine.poison == nil { lock?.recordKind() }
    return Opened(lock: lock, engine: engine)
  }

  // MARK: Commits

  /// Applies a batch in one frame and returns when it is as durable as asked.
  ///
  /// `.relaxed` and `.process` are the same here: the frame is written when this returns.
  ///
  /// - Throws: `tooLarge` (a key above `traits.longestKey`, a batch of more than 2 GB), `full`,
  ///   `io`, `poisoned`, `closed`, `suspended`, `damaged` (the index, where a `clear` must read
  ///   it). After `poisoned` and `io` only reopening shows whether the commit was stored; after the
  ///   others nothing has changed.
  public func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try state.withLock { (state: inout State) throws(StoreError) -> CommitID in
      let engine = try state.engine()
      for case .put(_, let key, _) in batch.edits where key.count > traits.longestKey {
        throw StoreError(
          .tooLarge,
          "A key of \(key.count) bytes is above the limit of \(traits.longestKey): shorten it.")
      }
      try engine.commit(batch, durability)
      state.commit += 1
      if durability == .power {
        state.oldestUnsynced = nil
      } else if state.oldestUnsynced == nil {
        state.oldestUnsynced = state.commit
      }
      return CommitID(rawValue: state.commit)
    }
  }

  /// Makes every commit up to this one survive power loss, by syncing the journal once.
  ///
  /// - Throws: `io`, `poisoned`, `closed`, `suspended`.
  public func harden(_ upTo: CommitID) throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      let engine = try state.engine()
      guard let oldestUnsynced = state.oldestUnsynced, upTo.rawValue >= oldestUnsynced else {
        return
      }
      try engine.harden()
      state.oldestUnsynced = nil
    }
  }

  // MARK: Reads

  /// A frozen view of the newest commit. While it is open, the files that it may read are kept.
  ///
  /// - Throws: `closed`, `suspended`.
  public func view() throws(StoreError) -> any OrderedView {
    let (published, lease) = try opened()
    return LogView(published, lease)
  }

  /// The sizes: live records with their index, and all files with space allocated ahead.
  ///
  /// - Throws: `closed`, `suspended`.
  public func size() throws(StoreError) -> StoreSize {
    let published = try opened().published
    // Summed under the lock: a fold corrects the counts of all segments in one step.
    let (state, size) = published.state.withLock { ($0, $0.size) }
    let live = max(0, size.live - published.staleBytes(state))
    return StoreSize(live: live, free: max(0, size.file - live), file: size.file)
  }

  /// The ranges of removed keys that the next view knows; for tests.
  func gaps() throws(StoreError) -> DeletedRanges {
    try opened().published.state.withLock { $0.snapshot.gaps }
  }

  private func opened() throws(StoreError) -> (published: Published, lease: LogLease) {
    try readState.withLock { (readState) throws(StoreError) in
      switch readState {
      case .open(let published, let lease): return (published, lease)
      case .suspended: throw StoreError.storeSuspended
      case .closed: throw StoreError.storeClosed
      }
    }
  }

  // MARK: Housekeeping

  /// Folds the journal into the index and compacts segments until the files are about a quarter
  /// larger than what is live, beside the active segment.
  ///
  /// - Returns: whether more is left to do.
  /// - Throws: `io`, `full`, `damaged` (the index), `poisoned`, `closed`, `suspended`.
  public func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try state.withLock { (state: inout State) throws(StoreError) -> Bool in
      try state.engine().tidy(slice)
    }
  }

  // MARK: Damage

  /// Durable data that could not be read, until it is acknowledged: parts of the journal found at
  /// opening, and parts of the index found since. Until then the journal is not folded and no table
  /// is merged, so that the next opening or read reports the damage again.
  public var findings: [StoreFinding] {
    state.withLock { state in
      guard case .open(let opened) = state.phase else { return [] }
      let engine = opened.engine
      // When one block is unreadable, others may be: the whole index is checked, and all findings
      // are reported at once. Findings that an I/O error hides are not.
      if !engine.losses.all.isEmpty { try? engine.findLosses() }
      let parts = engine.losses.all.map(\.finding)
      guard let active = engine.active else { return parts }
      return engine.lost.map { range in
        StoreFinding(
          file: active.segment.path, offset: range.lowerBound, bytes: range.count,
          words: "commits in \(active.segment.path) from byte \(range.lowerBound) to "
            + "\(range.upperBound) could not be read and are left out")
      } + parts
    }
  }

  /// Folds the journal past the findings and merges the tables without them, keeping their bytes in
  /// separate files; the next opening does not report them.
  ///
  /// The newest state of the keys in a damaged block is unknown, so their entries in older tables
  /// are removed too.
  ///
  /// - Throws: `damaged` (more of the index than was reported), `io`, `full`, `poisoned`, `closed`,
  ///   `suspended`.
  public func acknowledgeFindings() throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      try state.engine().leaveOutLosses()
    }
  }

  // MARK: Life

  /// Makes all commits durable, ends the open views, and releases files and lock. Until `resume`,
  /// all calls but `resume` and `close` throw `suspended`.
  ///
  /// - Throws: `io`, `poisoned`, `closed`; the files are released anyway.
  public func suspend() throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      switch state.phase {
      case .suspended: return
      case .closed: throw StoreError.storeClosed
      case .open: try end(&state, .suspended, .suspended)
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
        let opened = try Self.open(path, options, files)
        state.phase = .open(opened)
        state.oldestUnsynced = 0
        readState.withLock { $0 = .open(opened.engine.published, LogLease()) }
      }
    }
  }

  /// Makes all commits durable, folds the journal, truncates space allocated ahead, and closes; a
  /// second call does nothing. Open views throw `closed` at their next read.
  ///
  /// - Throws: `io`, `poisoned`; the files are released anyway.
  public func close() throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      switch state.phase {
      case .closed: return
      case .suspended:
        state.phase = .closed
        readState.withLock { $0 = .closed }
      case .open: try end(&state, .closed, .closed)
      }
    }
  }

  private func end(
    _ state: inout State, _ phase: Phase, _ next: ReadState
  ) throws(StoreError) {
    guard case .open(let opened) = state.phase else { return }
    readState.withLock { readState in
      if case .open(_, let lease) = readState { lease.isOver.store(true, ordering: .releasing) }
      readState = next
    }
    state.phase = phase
    defer { opened.lock?.release() }
    if let known = state.poison ?? opened.engine.poison {
      state.poison = known
      throw State.refusal(known)
    }
    do throws(StoreError) {
      try opened.engine.close()
      state.oldestUnsynced = nil
    } catch {
      state.poison = error
      throw error
    }
  }
}
