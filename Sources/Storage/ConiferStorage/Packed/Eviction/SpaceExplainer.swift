import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Explains what a path's data takes, and why it is kept.
struct SpaceExplainer {
  let snapshot: LeafSnapshot
  let factor: PhysicalFactor
  let activity: Activity
  let role: StoreRole

  private func range(_ key: Bytes) -> PruneRanges.KeyRange {
    PruneRanges.KeyRange(low: key, high: key + [PathKey.endMark])
  }

  private func measure(
    _ tree: TreeInfo, _ ranges: [PruneRanges.KeyRange]
  ) throws(StoreError) -> RangeMeter.Sum {
    let runs = RunReader(view: snapshot, tree: tree.id)
    return try RangeMeter(runs: runs).measure(ranges)
  }

  private func covered(
    _ tree: TreeInfo, _ key: Bytes, _ scope: Coverage.Scope
  ) throws(StoreError) -> Int {
    let whole = range(key)
    let ranges = try Coverage(snapshot, tree, scope).ranges(whole.low, whole.high)
    return try measure(tree, ranges).bytes
  }

  /// Bytes of records that pins cover, in all trees.
  func pinned() throws(StoreError) -> Int {
    var bytes = 0
    for tree in try Trees.readable(snapshot) { bytes += try covered(tree, [], .pins) }
    return bytes
  }

  func explain(_ tree: TreeInfo, _ path: Path) throws(StoreError) -> SpaceExplanation {
    let key = PathKey.encode(path, tree.order)
    let total = try measure(tree, [range(key)])
    let pinned = try covered(tree, key, .pins)
    let kept = tree.order == .documents ? try covered(tree, key, .kept) : pinned
    let held = try covered(tree, key, .held(activity.active(tree.id)))
    let all = try covered(tree, key, .all)
    var explanation = SpaceExplanation(
      tree: tree.id, path: path, bytes: factor.physical(total.bytes), leaves: total.leaves)
    // Shares are rounded one by one: parts never exceed the whole.
    explanation.pinned = factor.physical(min(pinned, total.bytes))
    explanation.written = factor.physical(min(max(0, kept - pinned), total.bytes))
    explanation.active = factor.physical(min(max(0, held - kept), total.bytes))
    explanation.tracked = factor.physical(min(max(0, all - max(held, kept)), total.bytes))
    explanation.uncovered = factor.physical(max(0, total.bytes - all))
    explanation.reasons = try reasons(tree, path)
    explanation.pendingWrites = try pendingWrites(tree, path)
    explanation.fate = fate(explanation)
    return explanation
  }

  private func fate(_ explanation: SpaceExplanation) -> SpaceExplanation.Fate {
    if role == .authority { return .never }
    if explanation.leaves == 0, explanation.reasons.isEmpty { return .absent }
    var last: Int?
    for reason in explanation.reasons {
      guard case .tracked(_, let before) = reason else { return .stays }
      last = max(last ?? 0, before)
    }
    if let last { return .afterQueries(last) }
    let covered =
      explanation.pinned + explanation.written + explanation.active + explanation.tracked
    return covered > 0 ? .parts : .first
  }

  /// The pins, waiting writes and queries that cover the whole path, the strongest first.
  private func reasons(
    _ tree: TreeInfo, _ path: Path
  ) throws(StoreError) -> [SpaceExplanation.Reason] {
    var reasons: [SpaceExplanation.Reason] = []
    let queries = Queries(view: snapshot, tree: tree.id, order: tree.order)
    for pin in try Pins.all(snapshot, tree.id) where try covers(queries, pin, path) {
      reasons.append(.pinned(pin))
    }
    let coverage = Coverage(snapshot, tree)
    if try coverage.isWritten(PathKey.encode(path, tree.order)) { reasons.append(.written) }
    let active = activity.active(tree.id)
    var inactive: [StoredQuery] = []
    var place: Path? = path
    while let here = place {
      for stored in try queries.at(here) where try covers(queries, stored, path) {
        if active.contains(stored.id) {
          reasons.append(.active(stored))
        } else {
          inactive.append(stored)
        }
      }
      place = here.parent
    }
    guard !inactive.isEmpty else { return reasons }
    let order = try Eviction.candidates(snapshot, activity, unpinned: true)
    for stored in inactive {
      let name = Activity.Name(tree: tree.id, query: stored.id)
      // The last candidate is evicted first; pinned queries are not candidates.
      if let index = order.lastIndex(where: { $0.name == name }) {
        reasons.append(.tracked(stored, before: order.count - 1 - index))
      }
    }
    return reasons
  }

  /// Whether a pin covers all of a path; a pin of a query of documents covers what the query does.
  private func covers(_ queries: Queries, _ pin: Pin, _ path: Path) throws(StoreError) -> Bool {
    guard pin.path.contains(path) else { return false }
    guard queries.order == .documents, pin.parameters != TrackedQuery.defaultParameters,
      DocumentKey.document(pin.path) == nil
    else { return true }
    guard let stored = try queries.find(pin.path, pin.parameters) else { return false }
    return try covers(queries, stored, path)
  }

  /// Whether a query at or above a path covers all of it.
  private func covers(
    _ queries: Queries, _ stored: StoredQuery, _ path: Path
  ) throws(StoreError) -> Bool {
    if stored.query.isDefault { return true }
    if queries.order == .documents {
      guard let document = DocumentKey.document(path),
        let row = MatchRows(queries, stored.id, stored.query).find(document)
      else { return false }
      return try snapshot.get(Spaces.queryKeys, row) { _ in true } ?? false
    }
    let keys = queries.key(stored.id)
    guard try !snapshot.keys(Spaces.queryKeys, prefix: keys, limit: 1).isEmpty else { return true }
    guard path.count > stored.query.path.count else { return false }
    let child = path.keys[stored.query.path.count]
    return try snapshot.get(Spaces.queryKeys, queries.keyRow(stored.id, child)) { _ in true }
      ?? false
  }

  private func pendingWrites(_ tree: TreeInfo, _ path: Path) throws(StoreError) -> Int {
    var count = 0
    for lane in try QueueReader.lanes(snapshot, tree.id) {
      count += try QueueReader(snapshot, lane, tree.order, snapshot.leaves.codec).touching(path)
        .count
    }
    return count
  }
}
