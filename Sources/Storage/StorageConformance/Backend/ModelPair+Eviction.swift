internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension ModelPair {
  /// Runs an eviction, first as a dry run. Requires that the dry run changes nothing, that only
  /// what may be evicted is, in the right order, and that the report is true. The model follows.
  ///
  /// - Parameter comparesState: whether to compare the whole state with the model's.
  @discardableResult
  func evict(to target: Int, comparesState: Bool = true) async throws -> EvictionReport {
    let usage = try usageBesideIndexes()
    let dry = try await backend.evicting().evict(to: target, dryRun: true)
    try require(dry.isDryRun, "the report of a dry run says that it was none")
    try requireEqual(try usageBesideIndexes(), usage, "the usage after a dry run")
    if comparesState { try requireSame("after a dry run") }
    let report = try await backend.evicting().evict(to: target, dryRun: false)
    try require(!report.isDryRun, "the report of an eviction says that it was a dry run")
    try requireEqual(report.target, target, "the target in the report")
    // Stores free whole pages and have overhead of their own, so a record's share changes during
    // the eviction. In a small store it changes so much that only the order can be predicted.
    let (gone, told) = (report.queries.map(\.name), dry.queries.map(\.name))
    let shared = min(gone.count, told.count)
    let isSmall = report.before < 40 * fixture.factory.declared.writeQuantum
    try require(
      gone.prefix(shared) == told.prefix(shared)
        && (abs(gone.count - told.count) <= 1 + shared / 10 || isSmall),
      "\(gone) went, and a dry run had said \(told)")
    let cache = try backend.evicting().space().cache
    try require(
      abs(cache - report.after) <= slack(cache),
      "the report says that \(report.after) bytes are left, and \(cache) are")
    if comparesState { try adopt(report) }
    return report
  }

  /// The usage of all trees without that of indexes, which are built between commits at any time.
  private func usageBesideIndexes() throws -> StorageUsage {
    var usage = try usage(nil)
    usage.indexes = 0
    return usage
  }

  /// The allowed difference between byte counts: a few pages of the store.
  func slack(_ bytes: Int) -> Int {
    1024 + 4 * fixture.factory.declared.writeQuantum + bytes / 50
  }

  /// Requires that nothing but what a report says was evicted, and updates the model.
  func adopt(_ report: EvictionReport) throws {
    let before = model
    try removeEvicted(report)
    for tree in trees {
      let model = try model.tree(tree)
      let least = model.kept(by: model.queries.keys)
      let found = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
      try require(
        found.isPart(of: try before.tree(tree).root), "an eviction changed data that it left")
      try require(
        least.isPart(of: found),
        "data is gone that a pin or a query of tree \(model.info.name) covers: "
          + (least.difference(from: found) ?? ""))
      if !report.queries.isEmpty || !report.isMet {
        let bad = found.difference(from: least)
        try require(bad == nil, "data is left that nothing covers: \(bad ?? "")")
      }
      self.model.trees[tree]?.root = found
    }
    try adoptDocuments(report)
    if !report.isMet {
      let left = try candidates()
      try require(left.isEmpty, "\(left) could still go, and the target was not reached")
    }
    try requireSame("after an eviction")
  }

  /// Removes the queries of a report from the model, and requires that they are the ones that had
  /// to be evicted.
  private func removeEvicted(_ report: EvictionReport) throws {
    var last: UInt64 = 0
    for gone in report.queries {
      let view = ModelView(model)
      guard let stored = try view.trackedQuery(gone.tree, gone.path, gone.parameters) else {
        throw ConformanceFailure("a query at \(gone.path) went that was not there, or twice")
      }
      let name = StorageModel.QueryName(tree: gone.tree, query: stored.id)
      try require(!active.contains(name), "the active query at \(gone.path) went")
      try require(
        try !model.tree(gone.tree).isKept(stored.query), "the pinned query at \(gone.path) went")
      try require(
        gone.lastUse >= last, "the query at \(gone.path) went after one that was used later")
      last = gone.lastUse
      model.trees[gone.tree]?.forget(stored.id)
    }
    guard !report.queries.isEmpty else { return }
    for (name, use) in try candidates() where !used.contains(name) && !saved.contains(name) {
      try require(use >= last, "a query of use \(last) went before one of use \(use)")
    }
  }

  /// The queries that may be evicted, with their stored last uses.
  func candidates() throws -> [StorageModel.QueryName: UInt64] {
    var uses: [StorageModel.QueryName: UInt64] = [:]
    for (tree, model) in model.trees {
      for (id, query) in model.queries
      where !model.isKept(query) {
        uses[StorageModel.QueryName(tree: tree, query: id)] = query.lastUse
      }
    }
    return uses.filter { !active.contains($0.key) }
  }

  /// Sets in the backend and the model whether a query is listened to.
  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) {
    let name = StorageModel.QueryName(tree: tree, query: query)
    backend.setActive(isActive, query, in: tree)
    used.insert(name)
    if isActive { active.insert(name) } else { active.remove(name) }
  }

  /// Copies last uses that commits stored into the model.
  func adoptUses() throws {
    for name in used {
      guard let known = model.trees[name.tree]?.queries[name.query] else { continue }
      let found = try backend.read { (view) throws(StoreError) in
        try view.trackedQuery(name.tree, name.query)
      }
      guard let found else { continue }
      try require(
        found.lastUse >= known.lastUse, "the last use of a query went back to \(found.lastUse)")
      model.trees[name.tree]?.queries[name.query]?.lastUse = found.lastUse
    }
  }
}

extension EvictionReport.Query {
  /// The query's identity, without the bytes that it freed.
  var name: String { "\(tree.rawValue) \(path) \(parameters)" }
}
