import ConiferKeyValue
import ConiferTree
import Synchronization

/// The queries that are listened to now, and the last use of each, in memory and for any thread.
///
/// Uses are counted, not timed. A use is stored with a later commit once it is `quantum` uses later
/// than the stored one. So reading writes nothing, and a listener that is often added and removed
/// writes little.
final class Activity: Sendable {
  /// How many uses a crash may set a query back.
  static let quantum: UInt64 = 16
  /// The maximum number of uses that one commit stores in addition to its own changes.
  static let mostPerCommit = 32
  /// The maximum for commits that only queue writes, since an app's listeners wait for these.
  static let mostPerWrite = 4
  /// How many saved queries are remembered until they are used.
  static let mostSaved = 256

  /// A tracked query of a store.
  struct Name: Hashable {
    let tree: TreeID
    let query: QueryID
  }

  /// The reason why a query cannot be evicted, or cannot become active.
  private enum Hold {
    /// Somebody listens to it: it is not evicted.
    case active
    /// A commit of an eviction is removing it: it cannot become active.
    case beingEvicted
  }

  /// A query's use that is not stored yet.
  private struct Use {
    enum Last {
      case stored
      case waiting(UInt64)
      /// Less than a quantum later than the stored one.
      case recent(UInt64)

      var unstored: UInt64? {
        switch self {
        case .stored: nil
        case .waiting(let use), .recent(let use): use
        }
      }
    }

    var last = Last.stored
    /// The time at which it was saved. The caller will make it active next, so no eviction may
    /// treat it as old before.
    var saved: UInt64?
  }

  /// The uses that wait to be stored, in their order, with some that no longer wait.
  private struct WaitingUses {
    private var entries: [(name: Name, use: UInt64)] = []
    /// How many of the first ones wait no longer.
    private var start = 0

    private static func isWaiting(
      _ entry: (name: Name, use: UInt64), _ uses: [Name: Use]
    ) -> Bool {
      guard case .waiting(entry.use) = uses[entry.name]?.last else { return false }
      return true
    }

    /// A query is used, later than all others.
    mutating func add(_ name: Name, _ use: UInt64, _ uses: [Name: Use]) {
      entries.append((name, use))
      // Entries that no longer wait are dropped when they are as many as the others.
      guard entries.count > 2 * uses.count + 64 else { return }
      entries.removeAll { !Self.isWaiting($0, uses) }
      start = 0
    }

    mutating func first(_ limit: Int, _ uses: [Name: Use]) -> [(name: Name, use: UInt64)] {
      while start < entries.count, !Self.isWaiting(entries[start], uses) { start += 1 }
      var found: [(name: Name, use: UInt64)] = []
      var at = start
      while at < entries.count, found.count < limit {
        if Self.isWaiting(entries[at], uses) { found.append(entries[at]) }
        at += 1
      }
      return found
    }
  }

  private struct State {
    var clock: UInt64
    /// Queries that are active or being evicted.
    var holds: [Name: Hold] = [:]
    /// Queries with a use that is not stored.
    private(set) var uses: [Name: Use] = [:]
    private var waiting = WaitingUses()
    /// How many of them were saved and are not used yet.
    private(set) var savedCount = 0
    /// How often a query ceased to be active.
    var deactivations = 0

    init(clock: UInt64) { self.clock = clock }

    mutating func changeUse(_ name: Name, _ body: (inout Use) -> Void) {
      var use = uses[name] ?? Use()
      let wasSaved = use.saved != nil
      body(&use)
      if use.saved != nil, !wasSaved { savedCount += 1 }
      if use.saved == nil, wasSaved { savedCount -= 1 }
      uses[name] = use.last.unstored == nil && use.saved == nil ? nil : use
    }

    /// Counts a use of a query, which is not stored yet.
    mutating func use(_ name: Name) {
      clock += 1
      let use = clock
      changeUse(name) { $0 = Use(last: .waiting(use)) }
      waiting.add(name, use, uses)
    }

    /// The uses that wait the longest.
    mutating func oldestWaiting(_ limit: Int) -> [(name: Name, use: UInt64)] {
      waiting.first(limit, uses)
    }

    mutating func forget(_ name: Name) {
      if uses[name]?.saved != nil { savedCount -= 1 }
      uses[name] = nil
    }
  }

  private let state: Mutex<State>

  /// - Parameter clock: the last stored use; every use from now on is later.
  init(after clock: UInt64) { state = Mutex(State(clock: clock)) }

  /// Records that a query becomes active or inactive, which is a use; false when it is just being evicted.
  func setActive(_ isActive: Bool, _ name: Name) -> Bool {
    state.withLock { state in
      let before = state.holds[name]
      guard before != .beingEvicted else { return false }
      if before == .active, !isActive { state.deactivations += 1 }
      state.holds[name] = isActive ? .active : nil
      state.use(name)
      return true
    }
  }

  /// Records queries that a commit saved, as used last; in memory alone.
  func save(_ names: [Name]) {
    guard !names.isEmpty else { return }
    state.withLock { state in
      let saved = state.clock + 1
      for name in names {
        // All are forgotten at once; by now the earlier ones have become active.
        if state.savedCount == Self.mostSaved {
          for name in state.uses.filter({ $0.value.saved != nil }).keys {
            state.changeUse(name) { $0.saved = nil }
          }
        }
        state.changeUse(name) { $0.saved = saved }
      }
    }
  }

  /// Lets an eviction remove a query, unless it is active; it cannot become active until `endEvictions`.
  func beginEviction(of name: Name) -> Bool {
    state.withLock { state in
      guard state.holds[name] != .active else { return false }
      state.holds[name] = .beingEvicted
      return true
    }
  }

  /// Forgets queries that are no longer stored.
  func remove(where isGone: (Name) -> Bool) {
    state.withLock { state in
      // What is being evicted stays so until the commit is done.
      state.holds = state.holds.filter { $0.value == .beingEvicted || !isGone($0.key) }
      for name in state.uses.keys.filter(isGone) { state.forget(name) }
    }
  }

  /// Ends the evictions of queries: the commit is done, or has failed.
  func endEvictions(isCommitted: Bool) {
    state.withLock { state in
      for (name, _) in state.holds.filter({ $0.value == .beingEvicted }) {
        state.holds[name] = nil
        if isCommitted { state.forget(name) }
      }
    }
  }

  /// Continues the counter from a use that a caller saved itself.
  func advance(to lastUse: UInt64) {
    guard lastUse < Recency.end else { return }
    state.withLock { $0.clock = max($0.clock, lastUse) }
  }

  /// The counter.
  var clock: UInt64 { state.withLock { $0.clock } }

  func isActive(_ name: Name) -> Bool { state.withLock { $0.holds[name] == .active } }

  /// The active queries of a tree.
  func active(_ tree: TreeID) -> Set<QueryID> {
    Set(active.lazy.filter { $0.tree == tree }.map(\.query))
  }

  /// How often a query ceased to be active.
  var deactivations: Int { state.withLock { $0.deactivations } }

  /// All active queries.
  var active: Set<Name> {
    state.withLock { Set($0.holds.lazy.filter { $0.value == .active }.map(\.key)) }
  }

  /// How many queries are active.
  var activeCount: Int {
    state.withLock { $0.holds.values.reduce(0) { $0 + ($1 == .active ? 1 : 0) } }
  }

  /// The uses that are not stored.
  var uses: [Name: UInt64] { state.withLock { $0.uses.compactMapValues { $0.last.unstored } } }

  /// When a query was used last, as far as that is not stored.
  func lastUse(_ name: Name) -> UInt64 {
    state.withLock { state in
      guard let use = state.uses[name] else { return 0 }
      return max(use.last.unstored ?? 0, use.saved ?? 0)
    }
  }

  /// The oldest uses that may be a quantum later than the stored ones. The cost does not depend on
  /// the number of other uses.
  func usesToStore(_ limit: Int) -> [(name: Name, use: UInt64)] {
    state.withLock { $0.oldestWaiting(limit) }
  }

  /// Forgets uses that a commit stored, unless a later one came, and queries that do not exist.
  func stored(_ stored: Recency.Stored) {
    state.withLock { state in
      for (name, use) in stored.uses where state.uses[name]?.last.unstored == use {
        state.changeUse(name) { $0.last = .stored }
      }
      for (name, use) in stored.tooRecent where state.uses[name]?.last.unstored == use {
        state.changeUse(name) { $0.last = .recent(use) }
      }
    }
    if !stored.missing.isEmpty { remove { stored.missing.contains($0) } }
  }
}
