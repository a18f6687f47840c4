import ConiferKeyValue
import ConiferLeafStore

/// Updates the rows of one tree's indexes of children within a commit.
///
/// The rows are replaced once the edits are done. A child's rows are recorded before its first
/// change. For a node that is replaced completely nothing is recorded, since all its rows are found
/// by its key.
final class IndexMaintainer: LeafFollower {
  private typealias KeyRange = PruneRanges.KeyRange

  private struct Changes {
    /// By child: its rows before it changed.
    var before: [Bytes: [IndexRow]] = [:]
    /// Ranges that hold each indexed node whole or not at all.
    var whole: [KeyRange] = []
  }

  private let tx: LeafTransaction
  private let rows: IndexRows
  private let plans: [IndexPlan]
  private var changes: [Changes]

  init(_ tx: LeafTransaction, _ tree: TreeID, _ set: IndexSet) {
    self.tx = tx
    rows = IndexRows(tx: tx)
    plans = set.indexes.compactMap { index in
      index.definition.children.map { IndexPlan(index, $0, tree) }
    }
    changes = Array(repeating: Changes(), count: plans.count)
  }

  // MARK: Before a change

  /// Records the rows of the entries in `low ..< high` before they are replaced.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in source: RunEditor
  ) throws(StoreError) {
    for index in plans.indices {
      // The build has not reached this range: it will write these rows.
      if let position = plans[index].stored.position, !bytesPrecede(low, position) { continue }
      try record(index, low, high, new, source)
    }
  }

  private func record(
    _ index: Int, _ low: Bytes, _ high: Bytes, _ new: EntryList, _ source: RunEditor
  ) throws(StoreError) {
    let depth = plans[index].depth
    var from = low
    if let node = Self.prefix(low, depth) {
      let end = node + [PathKey.endMark]
      if compareBytes(high, end) <= 0, !plans[index].isIndexed(node) { return }
      if node.count < low.count || bytesPrecede(high, end) {
        let isWithin = compareBytes(high, end) <= 0
        try recordChildren(index, node, low, isWithin ? high : end, new, source)
        if isWithin { return }
        from = end
      }
    }
    var to = high
    if let node = Self.prefix(high, depth), node.count < high.count,
      bytesPrecede(high, node + [PathKey.endMark]), !bytesPrecede(node, from)
    {
      try recordChildren(index, node, node, high, new, source)
      to = node
    }
    if bytesPrecede(from, to) { changes[index].whole.append(KeyRange(low: from, high: to)) }
  }

  /// The first segments of a key, or nil when it has fewer.
  private static func prefix(_ key: Bytes, _ count: Int) -> Bytes? {
    key.withUnsafeBytes { bytes in
      var at = 0
      for _ in 0..<count {
        guard let end = PathKey.segmentEnd(bytes, at) else { return nil }
        at = end
      }
      return Bytes(bytes[..<at])
    }
  }

  /// Records the children of one node that have entries in a range before or after the change.
  private func recordChildren(
    _ index: Int, _ node: Bytes, _ low: Bytes, _ high: Bytes, _ new: EntryList,
    _ source: RunEditor
  ) throws(StoreError) {
    let plan = plans[index]
    guard plan.isIndexed(node) else { return }
    func child(_ key: Bytes) -> Bytes? { Self.prefix(key, plan.depth + 1) }
    let first = child(low)
    if let first, compareBytes(high, first + [PathKey.endMark]) <= 0 {
      if changes[index].before[first] != nil { return }
    }
    // Children that lie only partly in the range are read completely.
    let from =
      first
      ?? (bytesPrecede(low, node + [PathKey.firstChildMark])
        ? node + [PathKey.firstChildMark] : low)
    let to = child(high).map { bytesPrecede($0, high) ? $0 + [PathKey.endMark] : high } ?? high
    guard bytesPrecede(from, to) else { return }
    try source.forEachChild(plan, from, to) { (child, node, facts) throws(StoreError) in
      record(index, child, [plan.row(child, node: node, facts)])
      return true
    }
    for entry in new.lowerBound(from)..<new.lowerBound(to) {
      if let child = child(new.key(entry)) { record(index, child, []) }
    }
  }

  private func record(_ index: Int, _ child: Bytes, _ rows: [IndexRow]) {
    if let position = plans[index].stored.position, !bytesPrecede(child, position) { return }
    if changes[index].before[child] == nil { changes[index].before[child] = rows }
  }

  // MARK: After all changes

  /// Replaces the rows according to the current entries.
  func flush(_ source: RunEditor) throws(StoreError) {
    for (index, plan) in plans.enumerated() {
      let done = changes[index]
      changes[index] = Changes()
      let whole = Self.joined(done.whole)
      for range in whole { try rebuildRows(plan, range, source) }
      for (child, before) in done.before.sorted(by: { bytesPrecede($0.key, $1.key) })
      where !Self.contains(whole, child) {
        var after: [IndexRow] = []
        try source.forEachChild(plan, child, child + [PathKey.endMark]) {
          (child, node, facts) throws(StoreError) in
          after.append(plan.row(child, node: node, facts))
          return true
        }
        for row in before where !after.contains(row) { try rows.remove(row) }
        for row in after where !before.contains(row) { try rows.add(row) }
      }
    }
  }

  /// Whether a key lies in one of some ranges that ascend and do not meet.
  private static func contains(_ ranges: [KeyRange], _ key: Bytes) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if compareBytes(ranges[middle].low, key) <= 0 { low = middle + 1 } else { high = middle }
    }
    return low > 0 && bytesPrecede(key, ranges[low - 1].high)
  }

  private static func joined(_ ranges: [KeyRange]) -> [KeyRange] {
    var joined: [KeyRange] = []
    for range in ranges.sorted(by: { bytesPrecede($0.low, $1.low) }) {
      if let last = joined.last, compareBytes(range.low, last.high) <= 0 {
        let high = bytesPrecede(last.high, range.high) ? range.high : last.high
        joined[joined.count - 1] = KeyRange(low: last.low, high: high)
      } else {
        joined.append(range)
      }
    }
    return joined
  }

  /// Rebuilds the rows of all nodes in a range from the entries; old rows are removed without
  /// reading them.
  private func rebuildRows(
    _ plan: IndexPlan, _ range: KeyRange, _ source: RunEditor
  ) throws(StoreError) {
    var high = range.high
    if let position = plan.stored.position, bytesPrecede(position, high) { high = position }
    var after: [Bytes: [Bytes]] = [:]
    try source.forEachChild(plan, range.low, high) { (child, node, facts) throws(StoreError) in
      let row = plan.row(child, node: node, facts)
      after[row.key, default: []] += row.segment.map { [$0] } ?? []
      return true
    }
    for key in try rows.keys(plan.prefix + range.low, plan.prefix + range.high)
    where after[key] == nil {
      try tx.delete(Spaces.indexes, key)
    }
    for (key, segments) in after.sorted(by: { bytesPrecede($0.key, $1.key) }) {
      try tx.put(Spaces.indexes, key, payload: IndexRow.payload(segments))
    }
  }
}

/// The stored rows of a tree's indexes, in a commit.
struct IndexRows {
  let tx: LeafTransaction

  func add(_ row: IndexRow) throws(StoreError) {
    guard let segment = row.segment else {
      return try tx.put(Spaces.indexes, row.key, payload: [])
    }
    var segments = try segments(row.key)
    guard !segments.contains(segment) else { return }
    segments.append(segment)
    segments.sort(by: bytesPrecede)
    try tx.put(Spaces.indexes, row.key, payload: IndexRow.payload(segments))
  }

  /// Adds a row of a child or document that had no row before, so that none is looked up.
  func addNew(_ row: IndexRow) throws(StoreError) {
    guard row.segment == nil else { return try add(row) }
    try tx.putNew(Spaces.indexes, row.key, payload: [])
  }

  func remove(_ row: IndexRow) throws(StoreError) {
    guard let segment = row.segment else { return try tx.delete(Spaces.indexes, row.key) }
    let segments = try segments(row.key).filter { $0 != segment }
    if segments.isEmpty { return try tx.delete(Spaces.indexes, row.key) }
    try tx.put(Spaces.indexes, row.key, payload: IndexRow.payload(segments))
  }

  private func segments(_ key: Bytes) throws(StoreError) -> [Bytes] {
    guard let value = try tx.value(Spaces.indexes, key) else { return [] }
    return try IndexRow.segments(key, value)
  }

  /// The keys of the rows in a range.
  func keys(_ low: Bytes, _ high: Bytes) throws(StoreError) -> [Bytes] {
    var keys: [Bytes] = []
    try tx.walkKeys(Spaces.indexes, .atOrAfter(low)) { key, _ in
      guard key.compare(high) < 0 else { return .stop }
      keys.append(Bytes(key))
      return .next
    }
    return keys
  }
}

extension LeafStore {
  /// The leaves of a store whose indexes and collections are kept with them.
  ///
  /// - Parameter cache: about how many bytes of decoded runs are kept; 0 keeps none.
  convenience init(_ store: any OrderedStore, _ compression: Compression, cache: Int = 0) {
    self.init(
      store, level: compression.level, cache: cache,
      readsSingly: { (tx, tree) throws(StoreError) in try KnownTree.order(tx, tree) == .documents }
    ) { (tx, tree) throws(StoreError) in
      var followers: [any LeafFollower] = []
      if try KnownTree.order(tx, tree) == .documents {
        followers = [CollectionMaintainer(tx, tree)]
      }
      // The counts answer this without another read.
      if try tx.usage(tree).bytes[Spaces.changes.id] ?? 0 > 0 {
        followers.append(ChangeLogMaintainer(tx, tree))
      }
      guard try tx.usage(tree).bytes[Spaces.indexes.id] ?? 0 > 0 else { return followers }
      let set = try IndexSet.read(tx, tree)
      switch set.indexes.first?.definition {
      case .children: followers.append(IndexMaintainer(tx, tree, set))
      case .documents: followers.append(DocumentIndexMaintainer(tx, tree, set))
      case nil: break
      }
      return followers
    }
  }
}
