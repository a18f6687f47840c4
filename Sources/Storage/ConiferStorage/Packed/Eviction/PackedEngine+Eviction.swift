import ConiferKeyValue
import ConiferTree

/// Keeps the cache under its budget, in slices between commits and while nothing waits; never on the
/// thread of who commits.
extension PackedEngine {
  /// How many records a slice changes before it ends, by one stride more: the time that the store
  /// takes to apply them comes on top.
  private static let sliceEdits = 64
  /// What must have been let go of before a run that could not reach its target is repeated.
  static let release = 64
  /// About how far the cache may pass its budget before commits wait for more than one slice.
  private static let slack = 1 << 20

  /// Where things stood when a run could do no more.
  struct Stuck {
    /// What the cache took.
    let at: Int
    /// How many queries were not active.
    let inactive: Int
    let releases: Int
  }

  /// What the budget asks for.
  enum Phase {
    /// Nothing: the cache is within it, or nothing more may go.
    case resting
    /// A commit may have taken the cache over it.
    case looking
    /// A run is under way; whether a slice of it goes before the next commit.
    case running(EvictionRun, isOwed: Bool)
  }

  /// What eviction remembers between commits; on the store's thread alone.
  struct EvictionState {
    /// By tree, what counts against the budget and how many queries are tracked; nil until needed.
    var counted: [TreeID: (bytes: Int, queries: Int)]?
    /// The last known factor between records and physical bytes, and the bytes that it was taken at.
    var meter: (meter: BudgetMeter, at: Int)?
    /// Trees in which nothing is uncovered.
    var swept = SweptTrees()
    var phase = Phase.resting
    /// Set when a run ended above its target.
    var stuck: Stuck?
    /// What the cache took when the last commit that feeds it was let in.
    var reached = Int.max
    /// How much was let go of: pins and queries, and a little for keys of queries.
    var releases = 0
  }

  /// Whether slices wait for an idle moment.
  var isEvicting: Bool {
    if case .resting = eviction.phase { false } else { true }
  }

  /// Takes note of a commit, by what is known without asking the store: whoever waits for the commit
  /// pays for nothing else.
  func noteBudget() {
    guard let budget, role == .cache else { return }
    switch eviction.phase {
    case .resting: if mayBeDue(budget) { eviction.phase = .looking }
    case .looking: break
    case .running(let run, _): eviction.phase = .running(run, isOwed: true)
    }
  }

  /// Does what is owed before commits go on: one slice; when the cache is far over its budget, commits
  /// that feed it wait until as much was evicted as they brought. What was over the budget before holds up none of them.
  func evict(before group: [Pending]) {
    switch eviction.phase {
    case .resting, .running(_, isOwed: false): return
    case .looking, .running(_, isOwed: true): break
    }
    guard let budget else { return }
    do throws(StoreError) {
      try evictStep(budget)
      guard group.contains(where: { $0.edits.contains(where: \.feedsCache) }) else { return }
      var before = Int.max
      while isEvicting {
        let used = try used()
        guard used > max(budget + Self.slack / 2, eviction.reached), used < before else { break }
        before = used
        try evictStep(budget)
      }
      eviction.reached = try used()
    } catch {
      // A later commit tries again; one that the store refuses says so itself.
      giveUp(error)
    }
  }

  /// Goes on while nothing else waits.
  func evictIdly() {
    guard let budget else { return }
    do throws(StoreError) { try evictStep(budget) } catch { giveUp(error) }
  }

  /// Begins a run when one is due, and does a slice of it.
  private func evictStep(_ budget: Int) throws(StoreError) {
    let run: EvictionRun
    switch eviction.phase {
    case .resting: return
    case .running(let known, _): run = known
    case .looking:
      guard
        let new = try retryingAfterRepair({ (_) throws(StoreError) in try begin(budget) })
      else {
        eviction.phase = .resting
        return
      }
      run = new
    }
    let next = try evictSlice(run)
    guard next.isDone else {
      eviction.phase = .running(next, isOwed: false)
      return
    }
    eviction.phase = .resting
    eviction.stuck = next.isStuck ? try stuck(at: next.report.after) : nil
  }

  /// Ends the run without having reached its target.
  private func giveUp(_ error: StoreError) {
    eviction.phase = .resting
    // What stands in the way may be gone soon: the next commit that the store takes goes on.
    guard ![.suspended, .busy, .full].contains(error.code) else { return }
    eviction.stuck = (try? used()).flatMap { try? stuck(at: $0) }
  }

  private func stuck(at used: Int) throws(StoreError) -> Stuck {
    Stuck(at: used, inactive: try inactive(), releases: releases)
  }

  private func inactive() throws(StoreError) -> Int { inactive(try counted()) }

  private func inactive(_ counted: [TreeID: (bytes: Int, queries: Int)]) -> Int {
    var queries = -activity.active.count
    for tree in counted.values { queries.add(tree.queries) }
    return queries
  }

  private var releases: Int { eviction.releases + activity.releases * Self.release }

  /// Whether a run may be due, without asking the store.
  private func mayBeDue(_ budget: Int) -> Bool {
    guard let counted = eviction.counted, let known = eviction.meter else { return true }
    let bytes = Self.bytes(counted)
    guard Self.holds(known.at, bytes) else { return true }
    return isDue(budget, known.meter.physical(bytes), inactive(counted))
  }

  private func isDue(_ budget: Int, _ used: Int, _ inactive: Int) -> Bool {
    guard used > budget || inactive > EvictionRun.mostInactive else { return false }
    guard let stuck = eviction.stuck else { return true }
    return releases - stuck.releases >= Self.release || used >= stuck.at + Self.slack / 4
      || inactive >= stuck.inactive + EvictionRun.mostInactive - EvictionRun.fewerInactive
  }

  private func begin(_ budget: Int) throws(StoreError) -> EvictionRun? {
    let used = try used()
    guard isDue(budget, used, try inactive()) else { return nil }
    let view = try store.view()
    defer { view.close() }
    return try EvictionRun(
      view, to: used > budget ? budget / 10 * 9 : nil, swept: eviction.swept)
  }

  /// Does a slice of a run in a commit of its own, and returns the run as it goes on.
  ///
  /// - Throws: `invalid` of an authority.
  func evictSlice(_ run: EvictionRun) throws(StoreError) -> EvictionRun {
    var next = try retryingAfterRepair { (_) throws(StoreError) in
      let end = ContinuousClock.now + sliceTime
      var run = run
      var swept = eviction.swept
      let size = try store.size()
      var isDone = false
      defer { activity.settle(isDone: isDone) }
      // Losing an eviction in a crash loses nothing.
      try change(.relaxed) { (tx) throws(StoreError) in
        tx.frees = true
        try run.slice(tx, packing, BudgetMeter(tx, size), activity, &swept) {
          tx.state.editCount >= Self.sliceEdits || ContinuousClock.now >= end
        }
      }
      isDone = true
      eviction.swept = swept
      return run
    }
    guard next.isDone else { return next }
    try retryingAfterRepair { (_) throws(StoreError) in
      let view = try store.view()
      defer { view.close() }
      let meter = try BudgetMeter(view, store.size())
      next.settle(meter, try meter.cache(view))
    }
    return next
  }

  var packing: EvictionPacking {
    EvictionPacking(codec: codec, longestKey: longestKey, shape: shape)
  }

  // MARK: Counting

  /// What the cache takes, without reading: counted as commits go by.
  private func used() throws(StoreError) -> Int {
    let bytes = Self.bytes(try counted())
    if let known = eviction.meter, Self.holds(known.at, bytes) {
      return known.meter.physical(bytes)
    }
    let view = try store.view()
    defer { view.close() }
    let meter = try BudgetMeter(view, store.size())
    eviction.meter = (meter, bytes)
    return meter.physical(bytes)
  }

  private static func bytes(_ counted: [TreeID: (bytes: Int, queries: Int)]) -> Int {
    var bytes = 0
    for tree in counted.values { bytes.add(tree.bytes) }
    return bytes
  }

  /// Whether a factor that was taken at so many bytes holds for others.
  private static func holds(_ at: Int, _ bytes: Int) -> Bool { abs(bytes - at) < slack / 16 }

  private func counted() throws(StoreError) -> [TreeID: (bytes: Int, queries: Int)] {
    if let counted = eviction.counted { return counted }
    var counted: [TreeID: (bytes: Int, queries: Int)] = [:]
    let view = try store.view()
    defer { view.close() }
    for key in try view.keys(Spaces.usage, prefix: []) {
      let row = try UsageRow.read(view, StoreKey.tree(key))
      counted[StoreKey.tree(key)] = (row.usage.budgeted, row.queries)
    }
    eviction.counted = counted
    return counted
  }

  /// Takes note of what a finished commit counted.
  func count(_ rows: [TreeID: UsageRow]) {
    guard eviction.counted != nil else { return }
    for (tree, row) in rows { eviction.counted?[tree] = (row.usage.budgeted, row.queries) }
  }

  /// Takes note of what commits covered and uncovered.
  func note(_ applier: CommitApplier) {
    eviction.swept.uncover(applier.uncovered.union(applier.wiped))
    eviction.releases += applier.releases
    activity.save(applier.saved)
    if !applier.removed.isEmpty || !applier.wiped.isEmpty {
      activity.remove { applier.removed.contains($0) || applier.wiped.contains($0.tree) }
    }
    guard !applier.wiped.isEmpty else { return }
    eviction.counted = nil
  }

  // MARK: Recency

  /// Writes the uses that no commit took along; before the store is let go of.
  func storeRecency() throws(StoreError) {
    let uses = activity.uses
    guard !uses.isEmpty else { return }
    let stored = try retryingAfterRepair { (_) throws(StoreError) in
      try change(.process) { (tx) throws(StoreError) in
        try Recency.store(tx, uses, distance: 0, limit: .max)
      }
    }
    activity.stored(stored)
  }
}

extension StorageEdit {
  /// Whether it may add to what counts against the budget.
  fileprivate var feedsCache: Bool {
    switch self {
    case .overwrite, .merge, .saveQuery, .setTrackedKeys, .updateTrackedKeys, .pin, .setIndexes,
      .restoreQuery:
      true
    case .prune, .removeQuery, .unpin, .enqueue, .restore, .replace, .setState, .finish, .purge,
      .reserveQueries, .restoreFinished, .reserve, .report, .setMetadata, .wipe:
      false
    }
  }
}
