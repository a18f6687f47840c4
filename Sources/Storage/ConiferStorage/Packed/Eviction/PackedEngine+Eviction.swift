import ConiferKeyValue
import ConiferTree

/// Keeps the cache under its budget, in slices between commits.
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

  /// What eviction remembers between commits; on the store's thread alone.
  struct EvictionState {
    /// By tree, what counts against the budget and how many queries are tracked; nil until needed.
    var counted: [TreeID: (bytes: Int, queries: Int)]?
    /// The last known factor between records and physical bytes, and the bytes that it was taken at.
    var meter: (meter: BudgetMeter, at: Int)?
    /// Trees in which nothing is uncovered.
    var swept = SweptTrees()
    /// The run that is under way.
    var run: EvictionRun?
    /// Set when a run ended above its target.
    var stuck: Stuck?
    /// What the cache took when the last commit's eviction ended.
    var reached = Int.max
    /// How much was let go of: pins and queries, and a little for keys of queries.
    var releases = 0
  }

  /// Whether slices wait for an idle moment.
  var isEvicting: Bool { eviction.run != nil }

  /// Takes note of a commit, and evicts a slice when the cache is over its budget.
  func keepBudget() {
    guard let budget, role == .cache else { return }
    do throws(StoreError) {
      if eviction.run == nil {
        try retryingAfterRepair { (_) throws(StoreError) in try beginRun(budget) }
      }
      // One slice goes between commits, and what these brought beyond the slack; what was over the
      // budget before holds up none of them.
      var before = Int.max
      while eviction.run != nil {
        try evictSlice()
        let used = try used()
        guard used > max(budget + Self.slack, eviction.reached), used < before else { break }
        before = used
      }
      eviction.reached = try used()
    } catch {
      // A later commit tries again; one that the store refuses says so itself.
      giveUp(error)
    }
  }

  /// Goes on with a run while nothing else waits.
  func evictIdly() {
    guard eviction.run != nil else { return }
    do throws(StoreError) { try evictSlice() } catch { giveUp(error) }
  }

  /// Ends the run without having reached its target.
  private func giveUp(_ error: StoreError) {
    eviction.run = nil
    // What stands in the way may be gone soon: the next commit that the store takes goes on.
    guard ![.suspended, .busy, .full].contains(error.code) else { return }
    eviction.stuck = (try? used()).flatMap { try? stuck(at: $0) }
  }

  private func stuck(at used: Int) throws(StoreError) -> Stuck {
    Stuck(at: used, inactive: try inactive(), releases: releases)
  }

  private func inactive() throws(StoreError) -> Int {
    var queries = -activity.active.count
    for tree in try counted().values { queries.add(tree.queries) }
    return queries
  }

  private var releases: Int { eviction.releases + activity.releases * Self.release }

  private func beginRun(_ budget: Int) throws(StoreError) {
    let used = try used()
    let inactive = try inactive()
    let isTooMany = inactive > EvictionRun.mostInactive
    guard used > budget || isTooMany else { return }
    if let stuck = eviction.stuck, releases - stuck.releases < Self.release,
      used < stuck.at + Self.slack / 4,
      inactive < stuck.inactive + EvictionRun.mostInactive - EvictionRun.fewerInactive
    {
      return
    }
    let view = try store.view()
    defer { view.close() }
    eviction.run = try EvictionRun(
      view, to: used > budget ? budget / 10 * 9 : nil, swept: eviction.swept)
  }

  private func evictSlice() throws(StoreError) {
    guard let run = eviction.run else { return }
    let next = try evictSlice(run)
    eviction.run = next.isDone ? nil : next
    guard next.isDone else { return }
    eviction.stuck = next.isStuck ? try stuck(at: next.report.after) : nil
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
    var bytes = 0
    for tree in try counted().values { bytes.add(tree.bytes) }
    if let known = eviction.meter, abs(bytes - known.at) < Self.slack / 16 {
      return known.meter.physical(bytes)
    }
    let view = try store.view()
    defer { view.close() }
    let meter = try BudgetMeter(view, store.size())
    eviction.meter = (meter, bytes)
    return meter.physical(bytes)
  }

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
