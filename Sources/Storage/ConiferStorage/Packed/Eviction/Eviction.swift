import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// One eviction, from its first slice to its last; between slices it keeps only its position.
///
/// Removing a query and removing its data are separate steps, and uncovered data is found by a
/// scan. So an interrupted eviction leaves no record: the next one finds the remaining data.
struct Eviction: Sendable {
  /// The most inactive queries that are tracked.
  static let mostInactive = 1000
  /// The number of inactive queries after an eviction, so that the next query does not start
  /// another one.
  static let inactiveAfterEviction = 900

  private indirect enum Phase: Sendable {
    /// Removing uncovered data: the trees that are left, and the position in the first.
    case sweeping([TreeID], Sweep? = nil)
    /// Removing queries.
    case forgetting(Candidates)
    /// Removing the data of a removed query: its tree and path, and what the tree took before.
    case clearing(TreeID, Bytes, Sweep, before: Int, Candidates)
    /// The target was reached in this phase; the eviction continues there if the store's size is
    /// still above it.
    case reached(Phase)
    /// The rest may not be evicted.
    case stuck
  }

  /// A sweep under way.
  private struct Sweep {
    /// Its number in `SweptTrees`, or nil when it does not go through the whole tree.
    let number: Int?
    var at: Bytes
  }

  /// A query that may be evicted.
  struct Candidate: Sendable {
    let name: Activity.Name
    let lastUse: UInt64
  }

  /// The queries that are left, the least recently used first. The list is never copied.
  private struct Candidates: Sendable {
    private let all: [Candidate]
    private var left: Int

    /// - Parameter all: the least recently used is the last.
    init(_ all: [Candidate]) {
      self.all = all
      left = all.count
    }

    mutating func next() -> Candidate? {
      guard left > 0 else { return nil }
      left -= 1
      return all[left]
    }
  }

  /// What the first slice finds.
  private struct Beginning: Sendable {
    /// Converts bytes of records to physical bytes. It is measured once: if it were measured for
    /// each slice, the choice of what is evicted would depend on where slices end.
    var factor: PhysicalFactor
    /// Whether there were too many inactive queries.
    let hasTooMany: Bool
  }

  private var phase: Phase
  /// Nil before the first slice.
  private var beginning: Beginning?
  private(set) var report: EvictionReport

  /// - Parameters:
  ///   - target: what to come down to, or nil when only the number of queries is too large.
  ///   - swept: trees in which nothing is uncovered.
  init(
    _ view: any OrderedView, to target: Int?, swept: SweptTrees = SweptTrees(),
    isDryRun: Bool = false
  ) throws(StoreError) {
    let trees = try Trees.readable(view).map(\.id).filter { !swept.clean.contains($0) }
    phase = .sweeping(target == nil ? [] : trees)
    report = EvictionReport(target: target, isDryRun: isDryRun)
  }

  var isDone: Bool {
    switch phase {
    case .sweeping, .forgetting, .clearing: false
    case .reached, .stuck: true
    }
  }

  /// Whether it ended because the rest may not be evicted.
  var isStuck: Bool { if case .stuck = phase { true } else { false } }

  /// Continues until the slice is over or the eviction is done. It does at least one step, so that
  /// an eviction ends even when each slice is too short.
  ///
  /// - Parameters:
  ///   - measured: what records take before this slice; the first one's holds for all.
  ///   - swept: is told of sweeps and of removed queries.
  ///   - isOver: whether the slice is; asked after each step and each stride.
  mutating func slice(
    _ tx: LeafTransaction, _ measured: PhysicalFactor, _ activity: Activity,
    _ swept: inout SweptTrees, isOver: () -> Bool
  ) throws(StoreError) {
    let beginning = try begin(tx, measured, activity)
    let factor = beginning.factor
    defer { report.after = (try? factor.cache(tx)) ?? report.after }
    while !isDone {
      switch phase {
      case .sweeping(let trees, let sweep):
        if try isMet(tx, beginning, activity) { return phase = .reached(phase) }
        if try isSmall(tx, factor) {
          // The cache is small enough; there are only too many queries.
          phase = .forgetting(Candidates(try Self.candidates(tx, activity)))
        } else {
          try sweepSlice(tx, factor, activity, trees, sweep, &swept, isOver)
        }
      case .forgetting(let candidates):
        if try isMet(tx, beginning, activity) { return phase = .reached(phase) }
        try forget(tx, activity, candidates, &swept)
      case .clearing(let tree, let key, let sweep, let before, let rest):
        try clear(tx, factor, tree, key, sweep, before, rest, &swept, isOver)
      case .reached, .stuck: return
      }
      if isOver() { return }
    }
  }

  /// Ends the eviction with the measured size of the cache after all is stored. If that is above
  /// the target, the eviction continues with the new factor.
  mutating func end(_ measured: PhysicalFactor, cache: Int) {
    report.after = cache
    guard let target = report.target, cache > target, case .reached(let before) = phase else {
      return
    }
    phase = before
    beginning?.factor = measured
  }

  /// What the first slice found; this one is the first if nothing was.
  private mutating func begin(
    _ tx: LeafTransaction, _ factor: PhysicalFactor, _ activity: Activity
  ) throws(StoreError) -> Beginning {
    if let beginning { return beginning }
    report.before = try factor.cache(tx)
    let hasTooMany = try Self.inactive(tx, activity) > Self.mostInactive
    let beginning = Beginning(factor: factor, hasTooMany: hasTooMany)
    self.beginning = beginning
    return beginning
  }

  /// Whether the cache is small enough, and the inactive queries few enough.
  private func isMet(
    _ tx: LeafTransaction, _ beginning: Beginning, _ activity: Activity
  ) throws(StoreError) -> Bool {
    guard try isSmall(tx, beginning.factor) else { return false }
    guard beginning.hasTooMany else { return true }
    return try Self.inactive(tx, activity) <= Self.inactiveAfterEviction
  }

  private func isSmall(_ tx: LeafTransaction, _ factor: PhysicalFactor) throws(StoreError) -> Bool {
    guard let target = report.target else { return true }
    return try factor.cache(tx) <= target
  }

  /// How many tracked queries are not active.
  static func inactive(_ tx: LeafTransaction, _ activity: Activity) throws(StoreError) -> Int {
    var count = 0
    for tree in try tx.countedTrees() { count += try tx.usage(tree).queries }
    return count - activity.activeCount
  }

  private mutating func sweepSlice(
    _ tx: LeafTransaction, _ factor: PhysicalFactor, _ activity: Activity,
    _ trees: [TreeID], _ current: Sweep?, _ swept: inout SweptTrees, _ isOver: () -> Bool
  ) throws(StoreError) {
    guard let tree = trees.first else {
      return phase = .forgetting(Candidates(try Self.candidates(tx, activity)))
    }
    guard let info = try Trees.info(tx, tree) else {
      return phase = .sweeping(Array(trees.dropFirst()))
    }
    var sweep = current ?? Sweep(number: swept.begin(tree), at: [])
    let before = try PhysicalFactor.sum(tx).budgeted
    let target = report.target ?? 0
    let next = try Sweeper(tx, info).sweep(sweep.at, [PathKey.endMark]) {
      () throws(StoreError) in
      if isOver() { return true }
      return try factor.cache(tx) <= target
    }
    report.uncovered += factor.physical(max(0, before - (try PhysicalFactor.sum(tx).budgeted)))
    if let next {
      sweep.at = next
      return phase = .sweeping(trees, sweep)
    }
    if let number = sweep.number { swept.end(tree, number) }
    phase = .sweeping(Array(trees.dropFirst()))
  }

  /// The queries that may be evicted, the least recently used last.
  ///
  /// - Parameter unpinned: whether pinned queries are left out now, and not only when it is their
  ///   turn.
  static func candidates(
    _ view: any OrderedView, _ activity: Activity, unpinned: Bool = false
  ) throws(StoreError) -> [Candidate] {
    var candidates: [Candidate] = []
    let active = activity.active
    for info in try Trees.readable(view) {
      let queries = Queries(view: view, tree: info.id, order: info.order)
      let coverage = Coverage(view, info)
      for stored in try queries.window(after: nil, limit: .max) {
        let name = Activity.Name(tree: info.id, query: stored.id)
        guard !active.contains(name) else { continue }
        if unpinned, try coverage.isPinned(stored.query) { continue }
        let lastUse = max(stored.query.lastUse, activity.lastUse(name))
        candidates.append(Candidate(name: name, lastUse: lastUse))
      }
    }
    return candidates.sorted { a, b in
      (b.lastUse, b.name.tree, b.name.query) < (a.lastUse, a.name.tree, a.name.query)
    }
  }

  /// Removes the least recently used query, if it may still be evicted.
  private mutating func forget(
    _ tx: LeafTransaction, _ activity: Activity, _ candidates: Candidates,
    _ swept: inout SweptTrees
  ) throws(StoreError) {
    var rest = candidates
    guard let next = rest.next() else {
      return phase = .stuck
    }
    phase = .forgetting(rest)
    // It may have been used, changed or removed since the last slice.
    guard !activity.isActive(next.name), let info = try Trees.info(tx, next.name.tree) else {
      return
    }
    let editor = QueryEditor(tx, info)
    guard let query = try editor.queries.query(next.name.query) else { return }
    let lastUse = max(query.lastUse, activity.lastUse(next.name))
    guard lastUse == next.lastUse else { return }
    if try Coverage(tx, info).isPinned(query) { return }
    guard report.isDryRun || activity.beginEviction(of: next.name) else { return }
    // This is in bytes of records, which do not depend on the factor.
    let before = try PhysicalFactor.sum(tx).budgeted
    try editor.remove(next.name.query)
    report.queries.append(
      EvictionReport.Query(
        tree: info.id, path: query.path, parameters: query.parameters, lastUse: lastUse, bytes: 0))
    let key = PathKey.encode(query.path, info.order)
    let sweep = Sweep(number: swept.forget(info.id), at: key)
    phase = .clearing(info.id, key, sweep, before: before, rest)
  }

  /// Removes all data that only the removed query covered, so that no part is left.
  private mutating func clear(
    _ tx: LeafTransaction, _ factor: PhysicalFactor, _ tree: TreeID,
    _ key: Bytes, _ current: Sweep, _ before: Int, _ rest: Candidates,
    _ swept: inout SweptTrees, _ isOver: () -> Bool
  ) throws(StoreError) {
    var sweep = current
    var next: Bytes?
    if let info = try Trees.info(tx, tree) {
      next = try Sweeper(tx, info).sweep(sweep.at, key + [PathKey.endMark]) {
        () throws(StoreError) in isOver()
      }
    }
    if let next {
      sweep.at = next
      return phase = .clearing(tree, key, sweep, before: before, rest)
    }
    if let number = sweep.number { swept.end(tree, number) }
    if let last = report.queries.indices.last {
      report.queries[last].bytes = factor.physical(
        max(0, before - (try PhysicalFactor.sum(tx).budgeted)))
    }
    phase = .forgetting(rest)
  }
}
