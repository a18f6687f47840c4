import ConiferKeyValue
import ConiferLeafStore

/// Keeps the cache within its budget, in slices while no commit waits. Commits that add to the
/// cache wait for slices only when the cache is far over its budget.
final class Evictor {
  /// After this many changed records, and at most one stride more, a slice ends: about ten rooms,
  /// each with the records of its query and a run at either end, one of which gets another key. The
  /// time that the store needs to apply them is not part of the slice.
  private static let sliceEdits = 72
  /// The minimum number of steps of a slice before it ends for a commit, so that eviction also
  /// proceeds when commits follow each other without a pause.
  private static let minimumSteps = 4
  /// How much must have become evictable before an eviction that missed its target is repeated.
  static let enoughUncovered = 64
  /// About how far the cache may exceed its budget before commits that add to it wait.
  private static let slack = 1 << 19

  /// What must be done for the budget.
  enum Phase {
    /// Nothing: the cache is within it, or the rest may not be evicted.
    case nothingDue
    /// A commit may have taken the cache over it.
    case checking
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

  /// Who is told of ends of evictions; it may be set on any thread.
  let observer = EvictionObserver()
  private let writer: StoreWriter
  private let repairer: Repairer
  private let activity: Activity
  /// What the cache may take, in physical bytes; nil for an authority, which never evicts.
  private let budget: Int?
  /// About how long a slice holds the commits that come meanwhile.
  private let sliceTime: Duration
  private let counts: CacheCounts
  private(set) var swept = SweptTrees()
  private(set) var phase = Phase.nothingDue
  private(set) var stuck: Stuck?
  /// The cache's size after the last eviction, or a lower one since; nil until it was measured.
  /// Commits do not wait for eviction while the cache is no larger than this.
  private var baseline: Int?
  /// How much data commits made evictable: pins and queries count much, keys of queries little.
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
    if case .nothingDue = phase { false } else { true }
  }

  // MARK: What commits change

  /// Called for each change: with what it counted, covered and uncovered.
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

  /// Begins an eviction when commits may have taken the cache over its budget. It uses only counts
  /// in memory, so that commits do not wait for reads.
  func checkBudget() {
    guard let budget, case .nothingDue = phase, mayBeDue(budget) else { return }
    phase = .checking
  }

  /// Forgets what was known of the store, which another process may have had since.
  func forget() {
    counts.forget()
    (swept, phase, stuck) = (SweptTrees(), .nothingDue, nil)
    (baseline, uncoveredWeight) = (nil, 0)
  }

  /// Starts no more evictions; called before the store is closed.
  func stop() { phase = .nothingDue }

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
      // A later commit tries again. If the store refuses commits, this commit fails by itself.
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
    case .nothingDue: return
    case .evicting(let known): eviction = known
    case .checking:
      guard let new = try repairer.retrying({ (_) throws(StoreError) in try begin(budget) })
      else {
        phase = .nothingDue
        return
      }
      eviction = new
    }
    let next = try slice(eviction, isAwaited: isAwaited)
    guard next.isDone else {
      phase = .evicting(next)
      return
    }
    phase = .nothingDue
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
      // An eviction that a crash undoes is simply done again.
      try writer.change(.relaxed) { (tx) throws(StoreError) in
        tx.frees = true
        var steps = 0
        try eviction.slice(tx, PhysicalFactor(tx, size), activity, &swept) {
          steps += 1
          return tx.state.editCount >= Self.sliceEdits || ContinuousClock.now >= end
            || (steps >= Self.minimumSteps && isAwaited())
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
    observer.tell()
    return next
  }

  /// Ends the eviction without having reached its target.
  private func giveUp(_ error: StoreError) {
    phase = .nothingDue
    // These errors may be temporary: the next commit begins another eviction.
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
      || inactive >= stuck.inactive + Eviction.mostInactive - Eviction.inactiveAfterEviction
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
