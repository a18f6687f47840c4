import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import StorageConformance

/// A right backend behind one that evicts wrongly: the kit must tell.
final class FlawedEviction: EvictingBackend, DocumentBackend {
  /// What it does wrong.
  enum Defect: String, CaseIterable, Sendable {
    /// Takes pinned data.
    case evictsPins
    /// Takes active data.
    case forgetsActivity
    /// Takes the most recently used query first.
    case newestFirst
    /// Empties the outbound queue too.
    case purgesQueue
    /// Evicts when it was only asked.
    case evictsOnDryRun
    /// Forgets queries and leaves their data.
    case leavesData
    /// Keeps all below a filtered query, not only the children that it holds.
    case coversWholePaths
    /// Says that more went than did.
    case overstates
    /// Says more of the parts than of the whole.
    case addsUpWrongly
    /// Says that everything goes first.
    case foretellsWrongly
    /// Lets the cache grow.
    case neverEvicts
    /// Takes an authority for a cache.
    case evictsAuthorities
    /// Counts pinned data twice.
    case countsPinsTwice
    /// Takes documents that waiting writes need.
    case evictsWritten
  }

  private let base: any EvictingBackend
  private let defect: Defect
  let traits: BackendTraits

  /// A factory of backends in memory with a defect.
  static func factory(_ defect: Defect) -> BackendFactory {
    let right = Tested.memory(.standard)
    return BackendFactory(
      name: "backend that \(defect)", declared: right.declared, options: right.options,
      evicts: true, keepsDocuments: true
    ) { (directory, options) throws(StoreError) in
      var changed = options
      if defect == .neverEvicts { changed.budget = nil }
      if defect == .evictsAuthorities { changed.role = .cache }
      return FlawedEviction(try right.open(directory, changed).evicting(), options, defect)
    }
  }

  private init(_ base: any EvictingBackend, _ options: StorageOptions, _ defect: Defect) {
    self.base = base
    self.defect = defect
    var traits = base.traits
    traits.budget = options.budget
    traits.role = options.role
    self.traits = traits
  }

  // MARK: What is wrong

  @discardableResult
  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool {
    defect == .forgetsActivity || base.setActive(isActive, query, in: tree)
  }
  func observeIncidents(_ handler: (@Sendable () -> Void)?) { base.observeIncidents(handler) }

  func space() throws(StoreError) -> StorageSpace {
    var space = try base.space()
    if defect == .countsPinsTwice { space.pinned += space.cache }
    return space
  }

  func explain(_ tree: TreeID, _ path: Path) throws(StoreError) -> SpaceExplanation {
    var explanation = try base.explain(tree, path)
    if defect == .addsUpWrongly { explanation.tracked += explanation.bytes / 4 }
    if defect == .foretellsWrongly { explanation.fate = .first }
    return explanation
  }

  func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    switch defect {
    case .evictsPins:
      let pins = try await all { (view, tree) throws(StoreError) in try view.pins(tree) }
      return try await evict(bytes, dryRun, pins.map { .unpin($0) }, pins.map { .pin($0) })
    case .newestFirst:
      let queries = try await all { (view, tree) throws(StoreError) in
        try view.trackedQueries(tree, after: nil, limit: .max).map(\.query)
      }
      let turned = queries.map { query in
        var query = query
        query.lastUse = 100 - query.lastUse
        return query
      }
      var report = try await evict(bytes, dryRun, turned.map { .saveQuery($0) }, [])
      let gone = Set(dryRun ? [] : report.queries.map(\.path))
      try await base.commit(
        queries.filter { !gone.contains($0.path) }.map { .saveQuery($0) })
      for index in report.queries.indices { report.queries[index].lastUse = 100 }
      return report
    case .purgesQueue:
      let lanes = try await all { (view, tree) throws(StoreError) in try view.lanes(tree) }
      return try await evict(bytes, dryRun, [], dryRun ? [] : lanes.map { .purge($0) })
    case .evictsOnDryRun:
      var report = try await base.evict(to: bytes, dryRun: false)
      report.isDryRun = dryRun
      return report
    case .leavesData:
      var report = try await base.evict(to: bytes, dryRun: true)
      report.isDryRun = dryRun
      guard !dryRun else { return report }
      let gone = Set(report.queries.map(\.path))
      let edits = try await all { (view, tree) throws(StoreError) in
        try view.trackedQueries(tree, after: nil, limit: .max)
          .filter { gone.contains($0.query.path) }.map { StorageEdit.removeQuery(tree, $0.id) }
      }
      try await base.commit(edits)
      return report
    case .coversWholePaths:
      let keys = try await all { (view, tree) throws(StoreError) in
        var keys: [(TreeID, QueryID, [Key])] = []
        for stored in try view.trackedQueries(tree, after: nil, limit: .max) {
          keys.append((tree, stored.id, try view.trackedKeys(tree, stored.id)))
        }
        return keys
      }
      try await base.commit(keys.map { .setTrackedKeys($0.0, $0.1, []) })
      let report = try await base.evict(to: bytes, dryRun: dryRun)
      for (tree, query, keys) in keys {
        _ = try? await base.commit([.setTrackedKeys(tree, query, keys)])
      }
      return report
    case .evictsWritten:
      let report = try await base.evict(to: bytes, dryRun: dryRun)
      let edits = try await all { (view, tree) throws(StoreError) in
        var edits: [StorageEdit] = []
        for lane in try view.lanes(tree) {
          for path in try view.entries(lane, after: nil, limit: .max).flatMap(\.payload.touches) {
            if let document = DocumentKey.document(path) {
              edits.append(.documents(tree, [.forget(document)]))
            }
          }
        }
        return edits
      }
      if !dryRun { try await base.commit(edits) }
      return report
    case .overstates:
      var report = try await base.evict(to: bytes, dryRun: dryRun)
      report.after /= 2
      return report
    default: return try await base.evict(to: bytes, dryRun: dryRun)
    }
  }

  /// Evicts between two commits.
  private func evict(
    _ bytes: Int?, _ dryRun: Bool, _ before: [StorageEdit], _ after: [StorageEdit]
  ) async throws(StoreError) -> EvictionReport {
    try await base.commit(before)
    let report = try await base.evict(to: bytes, dryRun: dryRun)
    try await base.commit(after)
    return report
  }

  private func all<Value>(
    _ read: (any StorageView, TreeID) throws(StoreError) -> [Value]
  ) async throws(StoreError) -> [Value] {
    try base.read { (view) throws(StoreError) in
      var all: [Value] = []
      for tree in try view.trees() { all += try read(view, tree.id) }
      return all
    }
  }

  // MARK: What is handed on

  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    try await base.tree(named: name, order: order)
  }

  func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt { try await base.commit(edits, durability) }

  func harden(_ upTo: CommitID) async throws(StoreError) { try await base.harden(upTo) }

  func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    try base.read(body)
  }

  func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R { try base.keepingDocuments().readDocuments(body) }

  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) async throws(StoreError) -> Bool { try await base.tidy(slice) }
  func suspend() async throws(StoreError) { try await base.suspend() }
  func resume() async throws(StoreError) { try await base.resume() }
  func close() async throws(StoreError) { try await base.close() }
}
