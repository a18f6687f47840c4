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
    /// The store's number was not read yet.
    case unread
    /// The newest commit; nil when the next one begins a numbering.
    case counting(StoreCommit?)
    /// Commits up to the mark are lost, and that is not reported in the store yet. Until it is, commits
    /// keep the stored number, so that the next opening finds the same.
    case lacking(stored: StoreCommit?, marked: UInt64)
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

  /// - Parameters:
  ///   - traits: those of the store.
  ///   - directory: where the mark lies; nil for none.
  init(_ traits: StoreTraits, markIn directory: String?) {
    isCounting = traits.isPersistent
    file =
      traits.isPersistent && traits.strongest == .power
      ? directory.map { SyncMarkFile(in: $0) } : nil
  }

  // MARK: Opening

  /// Compares the store with the mark, before anything changes either.
  ///
  /// - Parameter isNew: whether the store holds nothing at all.
  /// - Returns: the path of a file in the mark's place that is not one.
  mutating func begin(_ view: any OrderedView, isNew: Bool) throws(StoreError) -> String? {
    guard isCounting else { return nil }
    let stored = isNew ? nil : try StoreCommit.read(view)
    state = .counting(stored)
    switch file?.read(of: stored?.store) {
    case .mark(let mark):
      // Of a store whose number cannot be read, and of one that has another name, nothing is known.
      let isOwn = isNew || mark.store == stored?.store
      if isOwn, mark.number > stored?.number ?? 0 {
        state = .lacking(stored: stored, marked: mark.number)
      }
    case .foreign: return file?.path
    case .nothing, nil: break
    }
    return nil
  }

  /// How many commits the store lacks that the mark says were durable, until that is reported.
  var lost: UInt64? {
    guard case .lacking(let stored, let marked) = state else { return nil }
    return marked - (stored?.number ?? 0)
  }

  // MARK: Commits

  /// What a transaction is to store; nil for nothing.
  ///
  /// - Parameter reportsLoss: whether it reports what is lost.
  mutating func next(
    _ tx: LeafTransaction, reportsLoss: Bool
  ) throws(StoreError) -> StoreCommit? {
    guard isCounting else { return nil }
    if case .unread = state { state = .counting(try StoreCommit.read(tx.base)) }
    switch state {
    case .unread: return nil
    case .counting(let newest): return StoreCommit.after(newest)
    case .lacking(let stored, let marked):
      guard reportsLoss else { return nil }
      return StoreCommit.after(stored.map { StoreCommit(store: $0.store, number: marked) })
    }
  }

  /// A commit was stored with what `next` gave.
  mutating func didCommit(_ commit: CommitID, _ stored: StoreCommit?, isDurable: Bool) {
    guard let stored else { return }
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
    file?.forget()
  }
}

/// What a report says of commits that are lost.
package enum LostCommits {
  private static let before = "the end of the store: "
  private static let after =
    " of its newest commits are lost, which had been acknowledged as durable"

  package static func words(_ count: UInt64) -> String { before + String(count) + after }

  /// How many commits a report says are lost; nil for another report.
  package static func count(_ incident: Incident) -> UInt64? {
    let words = incident.place
    guard incident.tree.rawValue == 0, words.hasPrefix(before), words.hasSuffix(after) else {
      return nil
    }
    return UInt64(words.dropFirst(before.count).dropLast(after.count))
  }
}
