import ConiferKeyValue
import ConiferLeafStore

/// Numbers the commits of a store, and keeps in a mark beside it the number of the newest one that
/// survives power loss. If an opening finds lower numbers in the store than in the mark, commits are
/// lost that were acknowledged.
///
/// The mark is written when the sync of what it names has returned, so it is never ahead of the store.
/// A killed process leaves it exact, and a power cut leaves it where it was some time before. It names
/// the store, so that it says nothing of another one whose files were put in the place.
struct SyncedCommits {
  /// A commit that no sync has covered yet.
  private struct Waiting {
    let commit: CommitID
    let number: UInt64
  }

  /// The mark, as far as it is kept.
  private struct Mark {
    var file: SyncMarkFile
    /// What the store is known by, when that is stored.
    var store: Bytes?
    /// What it will be known by after the next commit.
    var next: Bytes?
    /// The number in the file.
    var written: UInt64 = 0
  }

  /// How many commits are remembered for a sync of the older ones alone.
  private static let mostWaiting = 64

  private let isCounting: Bool
  /// The number of the newest commit; nil until it was read.
  private var newest: UInt64?
  private var waiting: [Waiting] = []
  private var mark: Mark?

  /// - Parameter isCounting: false for a store that keeps nothing.
  init(isCounting: Bool) { self.isCounting = isCounting }

  // MARK: Commits

  /// The number of the commit that a transaction will be; 0 for none.
  mutating func number(_ tx: LeafTransaction) throws(StoreError) -> UInt64 {
    guard isCounting else { return 0 }
    if let mark, mark.store == nil {
      let store = mark.next ?? Self.makeIdentity()
      // Without the counts of tree 0, whose damage others tell, the store stays without a name.
      let isPut: Void? = try undamaged { () throws(StoreError) in
        try tx.put(Spaces.system, SystemKey.identity.bytes, payload: store)
      }
      self.mark?.next = isPut == nil ? nil : store
    }
    let newest =
      if let newest { newest } else { try Self.newest(tx.base).number }
    self.newest = newest
    return newest + 1
  }

  /// A commit with a number was stored.
  mutating func didCommit(_ commit: CommitID, _ number: UInt64, isDurable: Bool) {
    guard number > 0 else { return }
    newest = number
    if let store = mark?.next {
      mark?.store = store
      mark?.next = nil
    }
    waiting.append(Waiting(commit: commit, number: number))
    if isDurable { return didSync(upTo: commit) }
    if waiting.count > Self.mostWaiting { waiting.removeFirst() }
  }

  /// A sync of all commits up to one has returned.
  mutating func didSync(upTo commit: CommitID) {
    let count = waiting.count { $0.commit <= commit }
    guard count > 0 else { return }
    let number = waiting[count - 1].number
    waiting.removeFirst(count)
    guard var mark, let store = mark.store, number > mark.written else { return }
    mark.file.write(SyncMark(store: store, commit: number))
    mark.written = number
    self.mark = mark
  }

  // MARK: The mark

  /// Keeps a mark from now on; `check` follows.
  mutating func keepMark(in directory: String) {
    if isCounting { mark = Mark(file: SyncMarkFile(in: directory)) }
  }

  /// Leaves the mark as it is from now on.
  mutating func stopKeeping() {
    closeFile()
    mark = nil
  }

  /// How many commits the store lacks that the mark says were durable.
  mutating func check(_ view: any OrderedView) throws(StoreError) -> UInt64 {
    guard var mark else { return 0 }
    let (number, isWhole) = try Self.newest(view)
    newest = number
    mark.store = try undamaged { () throws(StoreError) in try Self.identity(view) } ?? nil
    self.mark = mark
    guard let found = mark.file.read(), found.store == mark.store, found.commit > number else {
      return 0
    }
    // Numbers are given once.
    newest = found.commit
    self.mark?.written = found.commit
    // Counts that cannot be read may have the number; their damage is told.
    return isWhole ? found.commit - number : 0
  }

  /// Forgets what was known of the store, which another process may have had since.
  mutating func forget() {
    newest = nil
    waiting = []
    mark?.written = 0
  }

  /// Closes the mark's file, which the next sync opens again.
  mutating func closeFile() { mark?.file.close() }

  // MARK: What the store says

  /// The number of the newest commit, and whether all trees could be asked.
  private static func newest(_ view: any OrderedView) throws(StoreError) -> (
    number: UInt64, isWhole: Bool
  ) {
    var (number, isWhole) = (UInt64(0), true)
    for key in try view.keys(Spaces.usage, prefix: []) {
      do throws(StoreError) {
        number = max(number, try UsageRow.read(view, StoreKey.tree(key)).commit)
      } catch {
        guard [.damaged, .unsupported, .wrongKey].contains(error.code) else { throw error }
        isWhole = false
      }
    }
    return (number, isWhole)
  }

  private static func identity(_ view: any OrderedView) throws(StoreError) -> Bytes? {
    let key = SystemKey.identity.bytes
    guard let value = try view.value(Spaces.system, key) else { return nil }
    let payload = Record.open(Spaces.system, key, value)
    return payload?.count == SyncMark.identityLength ? payload : nil
  }

  private static func makeIdentity() -> Bytes {
    (0..<SyncMark.identityLength).map { _ in UInt8.random(in: .min ... .max) }
  }
}
