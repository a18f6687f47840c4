public import ConiferKeyValue
import ConiferLeafStore
public import ConiferTree

extension PackedBackend: EvictingBackend {
  /// Records that a tracked query is listened to, or no longer; nothing is written.
  ///
  /// - Returns: false when the query is just being evicted, and in the child of a fork.
  @discardableResult
  public func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool {
    guard isOwnProcess else { return false }
    let name = Activity.Name(tree: tree, query: query)
    guard engine.activity.setActive(isActive, name) else { return false }
    // It is recorded before the check, so that no eviction can start in between.
    if !isTracked(name) { engine.activity.remove { $0 == name } }
    return true
  }

  /// Whether a query is there; also when the store cannot tell now.
  private func isTracked(_ name: Activity.Name) -> Bool {
    guard let view = try? store.view() else { return true }
    defer { view.close() }
    let key = StoreKey.prefix(name.tree) + StoreKey.number(name.query.rawValue)
    do throws(StoreError) {
      return try view.get(Spaces.queries, key) { _ in } != nil
    } catch {
      return true
    }
  }

  /// Evicts cached data until the cache takes no more than asked, in slices between commits.
  ///
  /// - Throws: as the contract says.
  public func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    let target = try target(bytes)
    if dryRun {
      return try simulateEviction(target)
    }
    var run = try reading { (snapshot) throws(StoreError) in
      try Eviction(snapshot, to: target)
    }
    while !run.isDone {
      let current = run
      run = try await self.run { (engine) throws(StoreError) in try engine.evictor.slice(current) }
    }
    return run.report
  }

  private func target(_ bytes: Int?) throws(StoreError) -> Int {
    guard traits.role == .cache else {
      throw StoreError(
        .invalid,
        "The store is an authority: its data is the only copy and is never evicted. Open it with "
          + "role=cache if a server has the data.")
    }
    guard let target = bytes ?? traits.budget.map({ $0 / 10 * 9 }) else {
      throw StoreError(.invalid, "The store has no budget: say to what size to evict.")
    }
    guard target >= 0 else {
      throw StoreError(.invalid, "A cache cannot be evicted to \(target) bytes: give 0 or more.")
    }
    return target
  }

  /// Runs a whole eviction in a transaction that is then discarded.
  private func simulateEviction(_ target: Int) throws(StoreError) -> EvictionReport {
    try reading { (snapshot) throws(StoreError) in
      let tx = LeafTransaction(snapshot)
      var run = try Eviction(tx, to: target, isDryRun: true)
      let factor = try PhysicalFactor(tx, store.size())
      var swept = SweptTrees()
      while !run.isDone {
        try run.slice(tx, factor, engine.activity, &swept) { false }
      }
      return run.report
    }
  }

  /// The physical bytes that the store takes, by what they hold.
  ///
  /// - Throws: as the contract says.
  public func space() throws(StoreError) -> StorageSpace {
    try reading { (snapshot) throws(StoreError) in
      let size = try store.size()
      let factor = try PhysicalFactor(stored: snapshot, size)
      let usage = try PhysicalFactor.sum(stored: snapshot)
      let pinned = try explainer(snapshot, factor).pinned()
      return StorageSpace(
        cache: factor.physical(usage.budgeted), pinned: factor.physical(pinned),
        queue: factor.physical(usage.queue),
        other: factor.physical(usage.total - usage.budgeted - usage.queue), free: size.free,
        file: size.file, budget: traits.budget)
    }
  }

  /// The bytes of the medium that the cache takes.
  ///
  /// - Throws: as the contract says.
  public func cacheSize() throws(StoreError) -> Int {
    try reading { (snapshot) throws(StoreError) in
      try PhysicalFactor(stored: snapshot, store.size()).cache(stored: snapshot)
    }
  }

  /// Tells what the cached data at and below a path takes, why it is kept, and when it would go.
  ///
  /// - Throws: as the contract says.
  public func explain(_ tree: TreeID, _ path: Path) throws(StoreError) -> SpaceExplanation {
    try reading { (snapshot) throws(StoreError) in
      let info = try Trees.known(snapshot, tree)
      return try explainer(snapshot, PhysicalFactor(stored: snapshot, store.size())).explain(
        info, path)
    }
  }

  private func explainer(_ snapshot: LeafSnapshot, _ factor: PhysicalFactor) -> SpaceExplainer {
    SpaceExplainer(
      snapshot: snapshot, factor: factor, activity: engine.activity, role: traits.role)
  }
}
