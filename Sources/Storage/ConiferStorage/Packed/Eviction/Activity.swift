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
    /// Queries whose newest use is less than a quantum later than the stored one.
    var recentlyStored: Set<Name> = []
    /// Queries that were just saved, and when: the caller will make them active next, and no eviction may
    /// take them for old before.
    var saved: [Name: UInt64] = [:]
    /// How often a query ceased to be active.
    var deactivations = 0
    /// Queries that a commit of an eviction removes just now.
    var beingEvicted: Set<Name> = []
  }

  private let state: Mutex<State>

  /// - Parameter clock: the last stored use; every use from now on is later.
  init(after clock: UInt64) { state = Mutex(State(clock: clock)) }

  /// Records that a query becomes active or inactive, which is a use; false when it is just being evicted.
  func setActive(_ isActive: Bool, _ name: Name) -> Bool {
    state.withLock { state in
      guard !state.beingEvicted.contains(name) else { return false }
      if isActive {
        state.active.insert(name)
      } else if state.active.remove(name) != nil {
        state.deactivations += 1
      }
      state.clock += 1
      state.uses[name] = state.clock
      state.recentlyStored.remove(name)
      state.saved[name] = nil
      return true
    }
  }

  /// Records queries that a commit saved, as used last; in memory alone.
  func save(_ names: [Name]) {
    guard !names.isEmpty else { return }
    state.withLock { state in
      for name in names {
        // Forgotten all at once: by now the earlier ones have become active.
        if state.saved.count == Self.mostSaved { state.saved = [:] }
        state.saved[name] = state.clock + 1
      }
    }
  }

  /// Lets an eviction remove a query, unless it is active; it cannot become active until `endEvictions`.
  func beginEviction(of name: Name) -> Bool {
    state.withLock { state in
      guard !state.active.contains(name) else { return false }
      state.beingEvicted.insert(name)
      return true
    }
  }

  /// Forgets queries that are stored no more.
  func remove(where isGone: (Name) -> Bool) {
    state.withLock { state in
      state.active = state.active.filter { !isGone($0) }
      state.uses = state.uses.filter { !isGone($0.key) }
      state.recentlyStored = state.recentlyStored.filter { !isGone($0) }
      state.saved = state.saved.filter { !isGone($0.key) }
    }
  }

  /// Ends what `beginEviction` began: the commit is done, or has failed.
  func endEvictions(isCommitted: Bool) {
    state.withLock { state in
      defer { state.beingEvicted = [] }
      guard isCommitted else { return }
      for name in state.beingEvicted {
        state.uses[name] = nil
        state.recentlyStored.remove(name)
        state.saved[name] = nil
      }
    }
  }

  /// Counts on from a use that a caller saved itself.
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
  var deactivations: Int { state.withLock { $0.deactivations } }

  /// All active queries.
  var active: Set<Name> { state.withLock { $0.active } }

  /// The uses that are not stored.
  var uses: [Name: UInt64] { state.withLock { $0.uses } }

  /// When a query was used last, as far as that is not stored.
  func lastUse(_ name: Name) -> UInt64 {
    state.withLock { max($0.uses[name] ?? 0, $0.saved[name] ?? 0) }
  }

  /// The uses that may be a quantum later than the stored ones.
  var usesToStore: [Name: UInt64] {
    state.withLock { state in state.uses.filter { !state.recentlyStored.contains($0.key) } }
  }

  /// Forgets uses that a commit stored, unless a later one came, and queries that do not exist.
  func stored(_ stored: Recency.Stored) {
    state.withLock { state in
      for (name, use) in stored.uses where state.uses[name] == use { state.uses[name] = nil }
      for (name, use) in stored.tooRecent where state.uses[name] == use {
        state.recentlyStored.insert(name)
      }
    }
    if !stored.missing.isEmpty { remove { stored.missing.contains($0) } }
  }
}
