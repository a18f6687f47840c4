import ConiferKeyValue
import ConiferTree
import Synchronization

/// Which queries are listened to now, and when each was used last: in memory, for any thread.
///
/// Uses are counted, not timed. A use is stored with a later commit once it is `quantum` uses later than the
/// stored one: so reading writes nothing, and a listener that comes and goes writes little.
final class Activity: Sendable {
  /// How many uses a crash may set a query back.
  static let quantum: UInt64 = 16
  /// The most uses that one commit stores along with its own changes.
  static let mostPerCommit = 32
  /// How many saved queries are remembered until they are used.
  static let mostSaved = 256

  /// A tracked query of a store.
  struct Name: Hashable {
    let tree: TreeID
    let query: QueryID
  }

  private struct State {
    var clock: UInt64
    var active: Set<Name> = []
    /// Uses that are not stored.
    var uses: [Name: UInt64] = [:]
    /// Those that are too close to the stored ones to be stored, until the next use.
    var close: Set<Name> = []
    /// Queries that were saved without a use of their own, and when: the caller will make them active, but
    /// an eviction may come first.
    var saved: [Name: UInt64] = [:]
    /// How often a query ceased to be active.
    var releases = 0
    /// Queries that an eviction under way removes.
    var leaving: Set<Name> = []
  }

  private let state: Mutex<State>

  /// Nothing is active, and every use is later than the stored ones.
  init(after clock: UInt64) { state = Mutex(State(clock: clock)) }

  /// Notes that a query's use begins or ends now; false when an eviction under way removes it.
  func setActive(_ isActive: Bool, _ name: Name) -> Bool {
    state.withLock { state in
      guard !state.leaving.contains(name) else { return false }
      if isActive {
        state.active.insert(name)
      } else if state.active.remove(name) != nil {
        state.releases += 1
      }
      state.clock += 1
      state.uses[name] = state.clock
      state.close.remove(name)
      state.saved[name] = nil
      return true
    }
  }

  /// Notes queries that a commit saved: they were used last for now. Nothing of it is stored.
  func save(_ names: [Name]) {
    guard !names.isEmpty else { return }
    state.withLock { state in
      for name in names {
        // All are forgotten at once: those that were to become active have done so by now.
        if state.saved.count == Self.mostSaved { state.saved = [:] }
        state.saved[name] = state.clock + 1
      }
    }
  }

  /// Lets an eviction remove a query, unless it is active; it cannot become so until `endRelease`.
  func release(_ name: Name) -> Bool {
    state.withLock { state in
      guard !state.active.contains(name) else { return false }
      state.leaving.insert(name)
      return true
    }
  }

  /// Forgets queries that are stored no more.
  func remove(where isGone: (Name) -> Bool) {
    state.withLock { state in
      state.active = state.active.filter { !isGone($0) }
      state.uses = state.uses.filter { !isGone($0.key) }
      state.close = state.close.filter { !isGone($0) }
      state.saved = state.saved.filter { !isGone($0.key) }
    }
  }

  /// Ends what `release` began: the commit is done, or has failed.
  func endRelease(isCommitted: Bool) {
    state.withLock { state in
      defer { state.leaving = [] }
      guard isCommitted else { return }
      for name in state.leaving {
        state.uses[name] = nil
        state.close.remove(name)
        state.saved[name] = nil
      }
    }
  }

  /// Notes a use that a caller counted itself.
  func advance(to lastUse: UInt64) {
    guard lastUse < Recency.end else { return }
    state.withLock { $0.clock = max($0.clock, lastUse) }
  }

  /// The counter.
  var clock: UInt64 { state.withLock { $0.clock } }

  func isActive(_ name: Name) -> Bool { state.withLock { $0.active.contains(name) } }

  /// The active queries of a tree.
  func active(_ tree: TreeID) -> Set<QueryID> {
    state.withLock { state in
      Set(state.active.lazy.filter { $0.tree == tree }.map(\.query))
    }
  }

  /// How often a query ceased to be active.
  var releases: Int { state.withLock { $0.releases } }

  /// All active queries.
  var active: Set<Name> { state.withLock { $0.active } }

  /// The uses that are not stored.
  var uses: [Name: UInt64] { state.withLock { $0.uses } }

  /// When a query was used last, as far as that is not stored.
  func lastUse(_ name: Name) -> UInt64 {
    state.withLock { max($0.uses[name] ?? 0, $0.saved[name] ?? 0) }
  }

  /// Those of them that may be a quantum later than the stored ones.
  var usesToStore: [Name: UInt64] {
    state.withLock { state in state.uses.filter { !state.close.contains($0.key) } }
  }

  /// Forgets uses that are stored by now, unless a later one came, and queries that are gone.
  func stored(_ stored: Recency.Stored) {
    state.withLock { state in
      for (name, use) in stored.uses where state.uses[name] == use { state.uses[name] = nil }
      for (name, use) in stored.close where state.uses[name] == use { state.close.insert(name) }
    }
    if !stored.gone.isEmpty { remove { stored.gone.contains($0) } }
  }
}
