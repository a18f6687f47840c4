import ConiferKeyValue
import ConiferLeafStore

/// Numbers the commits of a store, and keeps in a mark beside it the number of the newest one that
/// survives power loss. If an opening finds a lower number in the store than in the mark, commits are
/// lost that were acknowledged.
///
/// The mark is written when the sync of what it names has returned, so it is never ahead of the store.
/// A killed process leaves it exact, and a power cut leaves it where it was some time before.
struct SyncedCommits {
  private enum State {
    /// The store was not compared with the mark yet: commits get no number.
    case unread
    /// The newest commit; nil when the next one begins a numbering.
    case counting(StoreCommit?)
    /// Commits up to the mark are lost, or may be, and that is not reported in the store yet. Until it is,
    /// commits keep the stored number, so that the next opening finds the same.
    case lacking(stored: StoreCommit?, marked: UInt64, LostCommits)
    /// The mark cannot be read. Commits keep the stored number, so that an opening that can read it finds
    /// what is lost now.
    case blind
  }

  /// What stands in the mark's place that is no mark to go by.
  enum Obstacle {
    /// A file that is not a mark.
    case foreign(path: String)
    case unreadable(path: String, cause: String)
  }

  /// Commits with successive numbers that no sync has covered yet.
  private struct Waiting {
    let commit: UInt64
    let number: UInt64
    var count: UInt64
  }

  /// How many are remembered for a sync of the older ones alone.
  private static let mostWaiting = 64

  private let isCounting: Bool
  private let file: SyncMarkFile?
  private var state = State.unread
  private var waiting: [Waiting] = []
  /// Whether a commit since the opening has left a sign in place of a number.
  private var hasSign = false

  /// - Parameters:
  ///   - traits: those of the store.
  ///   - directory: where the mark lies; nil for none.
  init(_ traits: StoreTraits, markIn directory: String?) {
    self.init(traits, directory.map { SyncMarkFile(in: $0) })
  }

  init(_ traits: StoreTraits, _ file: SyncMarkFile?) {
    isCounting = traits.isPersistent
    self.file = traits.isPersistent && traits.strongest == .power ? file : nil
  }

  // MARK: Opening

  /// Whether the store was not compared with the mark yet.
  var isUnread: Bool {
    guard isCounting, case .unread = state else { return false }
    return true
  }

  /// Compares the store with the mark, before anything changes either.
  ///
  /// - Parameter isNew: whether the store holds nothing at all.
  /// - Returns: what stands in the mark's place instead of one.
  mutating func begin(_ view: any OrderedView, isNew: Bool) throws(StoreError) -> Obstacle? {
    guard isCounting else { return nil }
    let stored = isNew ? StoreCommit.Stored.none : try StoreCommit.read(view)
    state = .counting(stored.commit)
    switch file?.read(of: stored.commit?.store) {
    case .mark(let mark):
      if let loss = LostCommits(stored, mark) {
        state = .lacking(stored: stored.commit, marked: mark.number, loss)
      }
    case .foreign: return file.map { .foreign(path: $0.path) }
    case .unreadable(let cause, let isDenied):
      state = .blind
      // What fails once is no damage: the next opening compares.
      return isDenied ? file.map { .unreadable(path: $0.path, cause: cause) } : nil
    case .nothing, nil: break
    }
    return nil
  }

  /// The durable commits that the store lacks, until that is reported.
  var loss: LostCommits? {
    if case .lacking(_, _, let loss) = state { loss } else { nil }
  }

  // MARK: Commits

  /// The number that the next commit is to store; nil for none.
  ///
  /// - Parameter reportsLoss: whether the commit reports what is lost.
  func next(reportsLoss: Bool) -> StoreCommit? {
    guard isCounting else { return nil }
    switch state {
    case .unread, .blind: return nil
    case .counting(let newest): return StoreCommit.after(newest)
    case .lacking(let stored, let marked, _):
      guard reportsLoss else { return nil }
      return StoreCommit.after(stored.map { StoreCommit(store: $0.store, number: marked) })
    }
  }

  /// Whether a commit without a number is to leave a sign, so that whoever had the store before sees that
  /// there was one: the first since the opening.
  var leavesSign: Bool { isCounting && !hasSign }

  /// Whether the next commit gets a number that a mark may name.
  var isMarking: Bool {
    guard file != nil, case .counting = state else { return false }
    return true
  }

  /// A commit was stored with what `next` gave.
  mutating func didCommit(_ commit: CommitID, _ stored: StoreCommit?, isDurable: Bool) {
    guard let stored else {
      hasSign = true
      return
    }
    if case .counting(let newest?) = state, newest.store == stored.store {
    } else {
      waiting = []
    }
    state = .counting(stored)
    if let last = waiting.last, commit.rawValue == last.commit &+ last.count,
      stored.number == last.number + last.count
    {
      waiting[waiting.count - 1].count += 1
    } else {
      waiting.append(Waiting(commit: commit.rawValue, number: stored.number, count: 1))
      if waiting.count > Self.mostWaiting { waiting.removeFirst() }
    }
    if isDurable { didSyncAll() }
  }

  /// A sync of all commits up to one has returned.
  mutating func didSync(upTo commit: CommitID) {
    var number: UInt64?
    while let first = waiting.first, first.commit <= commit.rawValue {
      let distance = commit.rawValue - first.commit
      guard distance < first.count else {
        number = first.number + first.count - 1
        waiting.removeFirst()
        continue
      }
      number = first.number + distance
      let left = first.count - distance - 1
      waiting.removeFirst()
      if left > 0 {
        waiting.insert(
          Waiting(
            commit: first.commit + distance + 1, number: first.number + distance + 1, count: left),
          at: 0)
      }
      break
    }
    if let number { mark(number) }
  }

  /// All commits are durable.
  mutating func didSyncAll() {
    waiting = []
    if case .counting(let newest?) = state { mark(newest.number) }
  }

  private func mark(_ number: UInt64) {
    guard case .counting(let newest?) = state else { return }
    file?.write(StoreCommit(store: newest.store, number: number))
  }

  // MARK: Closing

  /// The store is about to make all commits durable and to let others open it: the mark that is
  /// written then is the one that lies there now.
  func willRelease() {
    if case .counting(let newest?) = state { file?.open(for: newest) }
  }

  /// The store has made all commits durable and let go of its files.
  mutating func didRelease() {
    didSyncAll()
    forget()
  }

  /// Forgets what was known of the store, which another process may have had since.
  mutating func forget() {
    state = .unread
    waiting = []
    hasSign = false
    file?.forget()
  }
}
