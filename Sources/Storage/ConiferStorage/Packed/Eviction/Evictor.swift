import ConiferKeyValue
import ConiferLeafStore

/// Keeps the cache under its budget, in slices while no commit waits. Commits that feed the cache wait for
/// slices only when it is far over its budget.
final class Evictor {
  /// How many records a slice changes before it ends, by one stride more: the time that the store
  /// takes to apply them comes on top.
  private static let sliceEdits = 64
  /// How many steps a slice does before it makes way for a commit: so eviction goes on also while one commit
  /// follows another.
  private static let fewestSteps = 4
  /// How much must have become evictable before an eviction that could not reach its target is repeated.
  static let enoughUncovered = 64
  /// About how far the cache may pass its budget before commits that feed it wait.
  private static let slack = 1 << 19

  /// What the budget asks for.
  enum Phase {
    /// Nothing: the cache is within it, or the rest may not be evicted.
    case resting
    /// A commit may have taken the cache over it.
    case looking
    case evicting(Eviction)
  }

  /// The state in which an eviction ended above its target, because the rest may not be evicted.
  struct Stuck {
    /// What the cache took.
    let used: Int
    /// How many queries were not active.
    let inactive: Int
    let uncoveredWeight: Int
  }

  private let writer: StoreWriter
  private let repairer: Repairer
  private let activity: Activity
  /// What the cache may take, in physical bytes; nil for an authority, which never evicts.
  private let budget: Int?
  /// About how long a slice holds the commits that come meanwhile.
  private let sliceTime: Duration
  private let counts: CacheCounts
  private(set) var swept = SweptTrees()
  private(set) var phase = Phase.resting
  private(set) var stuck: Stuck?
  /// What the cache took when the last eviction ended, or less since; nil until it was measured. Commits do not
  /// wait for eviction while the cache takes no more than this.
  private var baseline: Int?
  /// How much commits made evictable: pins and queries weigh much, keys of queries little.
  private var uncoveredWeight = 0

  init(
    _ writer: StoreWriter, _ repairer: Repairer, _ activity: Activity, _ options: StorageOptions
  ) {
    self.writer = writer
    self.repairer = repairer
    self.activity = activity
    budget = options.role == .cache ? options.budget : nil
    sliceTime = options.evictionSlice
    counts = CacheCounts(writer)
  }

  /// Whether slices wait for an idle moment.
  var hasWork: Bool {
    if case .resting = phase { false } else { true }
  }

  // MARK: What commits change

  /// Told of each change: what it counted, covered and uncovered.
  func didChange(_ change: StoreChange) {
    counts.didChange(change)
    let cover = change.effects.cover
    swept.uncover(cover.uncovered)
    uncoveredWeight += cover.uncoveredWeight
    if !cover.removed.isEmpty || !cover.wiped.isEmpty {
      activity.remove { cover.removed.contains($0) || cover.wiped.contains($0.tree) }
    }
    activity.save(cover.saved)
  }

  /// Begins an eviction when commits may have taken the cache over its budget. It uses counts in memory
  /// alone, so that commits do not wait for reads.
  func checkBudget() {
    guard let budget, case .resting = phase, mayBeDue(budget) else { return }
    phase = .looking
  }

  /// Forgets what was known of the store, which another process may have had since.
  func forget() {
    counts.forget()
    (swept, phase, stuck) = (SweptTrees(), .resting, nil)
    (baseline, uncoveredWeight) = (nil, 0)
  }

  /// Begins nothing more by itself; before the store is closed.
  func stop() { phase = .resting }

  // MARK: Slices

  /// Evicts before commits that add to a cache which is far over its budget. Only here do commits wait for
  /// eviction.
  func makeRoom(before group: [PackedEngine.Pending]) {
    guard let budget, hasWork, group.contains(where: { $0.edits.contains(where: \.feedsCache) })
    else { return }
    do throws(StoreError) {
      var used = try counts.totals().used
      let limit = max(budget, baseline ?? used) + Self.slack
      baseline = min(baseline ?? used, used)
      while hasWork, used > limit {
        try step(budget) { false }
        let left = try counts.totals().used
        guard left < used else { break }
        used = left
      }
    } catch {
      // A later commit tries again; a store that refuses commits fails this one itself.
      giveUp(error)
    }
  }

  /// Does a slice while nothing else waits, which ends early when a commit comes.
  func slice(isAwaited: () -> Bool) {
    guard let budget else { return }
    do throws(StoreError) { try step(budget, isAwaited) } catch { giveUp(error) }
  }

  /// Begins an eviction when one is due, and does a slice of it.
  private func step(_ budget: Int, _ isAwaited: () -> Bool) throws(StoreError) {
    let eviction: Eviction
    switch phase {
    case .resting: return
    case .evicting(let known): eviction = known
    case .looking:
      guard let new = try repairer.retrying({ (_) throws(StoreError) in try begin(budget) })
      else {
        phase = .resting
        return
      }
      eviction = new
    }
    let next = try slice(eviction, isAwaited: isAwaited)
    guard next.isDone else {
      phase = .evicting(next)
      return
    }
    phase = .resting
    baseline = next.report.after
    stuck = next.isStuck ? try stuck(at: next.report.after) : nil
  }

  private func begin(_ budget: Int) throws(StoreError) -> Eviction? {
    let (used, queries) = try counts.totals()
    guard isDue(budget, used, inactive(queries)) else { return nil }
    return try writer.read { (view) throws(StoreError) in
      try Eviction(view, to: used > budget ? budget / 10 * 9 : nil, swept: swept)
    }
  }

  /// Does a slice of an eviction in a commit of its own, and returns the eviction as it goes on.
  func slice(
    _ eviction: Eviction, isAwaited: () -> Bool = { false }
  ) throws(StoreError) -> Eviction {
    var next = try repairer.retrying { (_) throws(StoreError) in
      let end = ContinuousClock.now + sliceTime
      var eviction = eviction
      var swept = swept
      let size = try writer.store.size()
      var isCommitted = false
      defer { activity.endEvictions(isCommitted: isCommitted) }
      // Losing an eviction in a crash loses nothing.
      try writer.change(.relaxed) { (tx) throws(StoreError) in
        tx.frees = true
        var steps = 0
        try eviction.slice(tx, PhysicalFactor(tx, size), activity, &swept) {
          steps += 1
          return tx.state.editCount >= Self.sliceEdits || ContinuousClock.now >= end
            || (steps >= Self.fewestSteps && isAwaited())
        }
      }
      isCommitted = true
      self.swept = swept
      return eviction
    }
    guard next.isDone else { return next }
    try repairer.retrying { (_) throws(StoreError) in
      try writer.read { (view) throws(StoreError) in
        let factor = try PhysicalFactor(stored: view, writer.store.size())
        next.end(factor, cache: try factor.cache(stored: view))
      }
    }
    return next
  }

  /// Ends the eviction without having reached its target.
  private func giveUp(_ error: StoreError) {
    phase = .resting
    // These errors may pass: the next commit begins another one.
    guard ![.suspended, .busy, .full].contains(error.code) else { return }
    stuck = (try? counts.totals().used).flatMap { try? stuck(at: $0) }
  }

  // MARK: When an eviction is due

  /// Whether an eviction may be due, without asking the store.
  private func mayBeDue(_ budget: Int) -> Bool {
    guard let (used, queries) = counts.known else { return true }
    return isDue(budget, used, inactive(queries))
  }

  private func isDue(_ budget: Int, _ used: Int, _ inactive: Int) -> Bool {
    guard used > budget || inactive > Eviction.mostInactive else { return false }
    guard let stuck else { return true }
    return allUncovered - stuck.uncoveredWeight >= Self.enoughUncovered
      || used >= stuck.used + Self.slack / 2
      || inactive >= stuck.inactive + Eviction.mostInactive - Eviction.fewerInactive
  }

  private func stuck(at used: Int) throws(StoreError) -> Stuck {
    Stuck(
      used: used, inactive: inactive(try counts.totals().queries), uncoveredWeight: allUncovered)
  }

  private func inactive(_ queries: Int) -> Int { queries - activity.activeCount }

  private var allUncovered: Int { uncoveredWeight + activity.deactivations * Self.enoughUncovered }
}

extension StorageEdit {
  /// Whether it may add to what counts against the budget.
  var feedsCache: Bool {
    switch self {
    case .overwrite, .merge, .saveQuery, .setTrackedKeys, .updateTrackedKeys, .pin, .setIndexes,
      .documents,
      .restoreQuery:
      true
    case .prune, .removeQuery, .unpin, .enqueue, .restore, .replace, .setState, .finish, .purge,
      .reserveQueryIDs, .restoreFinished, .reserveWriteIDs, .raiseQueueFloor, .report, .setMetadata,
      .wipe:
      false
    }
  }
}
