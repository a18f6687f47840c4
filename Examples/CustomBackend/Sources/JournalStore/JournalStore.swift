import ConiferKeyValue
import ConiferStorage
import Synchronization

/// An ordered store in one file: a sorted snapshot of all rows, and behind it the commits since.
///
/// The rows are kept in memory; the file is read once, when the store is opened.
public final class JournalStore: OrderedStore {
  /// Facts that the kit checks.
  public let traits = StoreTraits(
    longestKey: 4096, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .power,
    isPersistent: true)

  /// What an open store has; there is nothing half open.
  struct Opened {
    var file: File
    let lock: OwnerLock
    let gate = Gate()
    var rows = SortedRows()
    /// Where the next frame goes, and up to where everything survives power loss.
    var end = 0
    var synced = 0
  }

  enum Phase {
    case open(Opened)
    case suspended
    case closed
  }

  struct State {
    var phase: Phase
    var commit: UInt64 = 0
    /// Why nothing may be committed until the store is opened anew; suspending does not cure it.
    var poison: StoreError?
  }

  let path: String
  private let state: Mutex<State>

  /// Opens the store in a directory, or makes one where there is none.
  ///
  /// - Throws: `busy`, `foreign`, `newerFormat`, `damaged`, `denied`, `full`, `io`.
  public init(at path: String) throws(StoreError) {
    self.path = path
    state = Mutex(State(phase: .open(try Self.open(path))))
  }

  deinit { try? close() }

  /// Writes a batch as one frame, syncs it at `.power`, and only then shows it.
  ///
  /// - Throws: `tooLarge`, `invalid` (space 0 or 255), `full`, `io`, `poisoned`, `closed`, `suspended`.
  public func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try changing { (opened, poison) throws(StoreError) in
      for edit in batch.edits { try check(edit) }
      let frame = Frame.bytes(batch.edits, at: opened.end, synced: opened.synced)
      do throws(StoreError) {
        try write(frame, of: batch, &opened)
      } catch {
        // Without the cut, a part of this commit would stand before the next one.
        do throws(StoreError) { try opened.file.cut(to: opened.end) } catch { poison = error }
        if error.code != .full { poison = error }
        throw error
      }
      if durability == .power { try sync(opened.file, &poison) }
      // Only now: a commit that was refused must not be seen.
      for edit in batch.edits { opened.rows.apply(edit) }
      opened.end += frame.count
      if durability == .power { opened.synced = opened.end }
      // Bounds the file; what fails here is tried again by the next commit.
      if opened.end > 4 * opened.rows.bytes + 1 << 20 { try? fold(&opened, &poison) }
    }
  }

  /// Syncs the file.
  ///
  /// - Throws: `io`, `poisoned`, `closed`, `suspended`.
  public func harden(_ upTo: CommitID) throws(StoreError) {
    try changing(counts: false) { (opened, poison) throws(StoreError) in
      guard opened.synced < opened.end else { return }
      try sync(opened.file, &poison)
      opened.synced = opened.end
    }
  }

  /// Replaces a file that is half again as long as its rows; nothing is ever left to do.
  ///
  /// - Throws: `full`, `io`, `poisoned`, `closed`, `suspended`.
  public func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try changing(counts: false) { (opened, poison) throws(StoreError) in
      if opened.end > opened.rows.bytes + opened.rows.bytes / 2 + 4096 {
        try fold(&opened, &poison)
      }
    }
    return false
  }

  /// A copy of the map.
  ///
  /// - Throws: `closed`, `suspended`.
  public func view() throws(StoreError) -> any OrderedView {
    try state.withLock { (state) throws(StoreError) in
      let opened = try Self.opened(state)
      return JournalView(opened.rows, opened.gate)
    }
  }

  /// The rows count as live, the rest of the file as free.
  ///
  /// - Throws: `closed`, `suspended`.
  public func size() throws(StoreError) -> StoreSize {
    try state.withLock { (state) throws(StoreError) in
      let opened = try Self.opened(state)
      let live = min(opened.rows.bytes, opened.end)
      return StoreSize(live: live, free: opened.end - live, file: opened.end)
    }
  }

  /// Makes all commits durable and lets go of file and lock.
  ///
  /// - Throws: `io`, `poisoned`, `closed`.
  public func suspend() throws(StoreError) { try closeJournal(to: .suspended) }

  /// Opens the file again, with all checks.
  ///
  /// - Throws: `closed`, and what `init` throws.
  public func resume() throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      switch state.phase {
      case .open: return
      case .closed: _ = try Self.opened(state)
      case .suspended: state.phase = .open(try Self.open(path))
      }
    }
  }

  /// Makes all commits durable and closes; a second call does nothing.
  ///
  /// - Throws: `io`, `poisoned`; the file is let go of all the same.
  public func close() throws(StoreError) {
    do throws(StoreError) { try closeJournal(to: .closed) } catch  where error.code == .closed {}
  }

  // MARK: What they share

  private static func opened(_ state: State) throws(StoreError) -> Opened {
    switch state.phase {
    case .open(let opened): return opened
    case .suspended: throw StoreError(.suspended, "The store is suspended. Call resume() first.")
    case .closed: throw StoreError(.closed, "The store was closed. Open it again.")
    }
  }

  /// Changes an open store that is not poisoned, and counts a commit when that succeeds.
  @discardableResult
  private func changing(
    counts: Bool = true,
    _ body: (inout Opened, inout StoreError?) throws(StoreError) -> Void
  ) throws(StoreError) -> CommitID {
    try state.withLock { (state) throws(StoreError) in
      var opened = try Self.opened(state)
      if let poison = state.poison { throw Self.refusal(poison) }
      // The map is changed in place, and not copied first, while nobody else refers to it.
      state.phase = .suspended
      defer { state.phase = .open(opened) }
      try body(&opened, &state.poison)
      if counts { state.commit += 1 }
      return CommitID(rawValue: state.commit)
    }
  }

  private static func refusal(_ cause: StoreError) -> StoreError {
    StoreError(
      .poisoned, "A write or sync failed earlier. Close the store and open it again.",
      cause: cause.description)
  }

  private func closeJournal(to next: Phase) throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      if case .suspended = state.phase { return state.phase = next }
      var opened = try Self.opened(state)
      state.phase = next
      opened.gate.isOpen.store(false, ordering: .releasing)
      defer { opened.lock.release() }
      if let poison = state.poison { throw Self.refusal(poison) }
      // A file that is one frame is checked whole at the next opening.
      do throws(StoreError) {
        try fold(&opened, &state.poison)
      } catch { try sync(opened.file, &state.poison) }
      if let poison = state.poison { throw poison }
    }
  }
}

extension JournalStore {
  /// None: a damaged journal is refused at opening.
  public var findings: [StoreFinding] { [] }

  /// Does nothing: there are no findings.
  public func acknowledgeFindings() throws(StoreError) {}

  /// Finds nothing: opening has checked every frame, and rows are read from memory.
  public func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}
