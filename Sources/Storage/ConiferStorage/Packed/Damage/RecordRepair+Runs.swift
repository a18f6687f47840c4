import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Repairing runs that cannot be read, or whose deltas or large leaves cannot.
extension RecordRepair {
  /// How many runs after a damaged one are checked: damage rarely affects only one run, and each
  /// repair goes through all queries.
  private static let neighbours = 64

  private func reader(_ tree: TreeID) -> RunReader {
    RunReader(view: tx, tree: tree)
  }

  func isRunDamaged(
    _ key: Bytes, _ value: Bytes, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    guard try isUnreadable(key, value, info) else {
      return try !damagedLeaves(key, value, info).isEmpty
    }
    return true
  }

  /// Whether a run or its deltas cannot be read, or its entries do not fit its key.
  private func isUnreadable(
    _ key: Bytes, _ value: Bytes, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    try meetsDamage { () throws(StoreError) in
      let head = try RunHead(storeKey: key, value: value)
      if try reader(info.id).isMisplaced(head) { return true }
      let entries = try reader(info.id).merged(head)
      if info.order == .documents {
        return entries.contains { DocumentRecord.readability($0) == .damaged }
      }
      return entries.contains { !Self.isSound($0, info.order) }
    }
  }

  /// Whether an entry is a leaf or a priority at a path.
  private static func isSound(_ entry: Entry, _ order: KeyOrder) -> Bool {
    guard PathKey.path(entry.key, order) != nil, let decoded = LeafCodec.decode(entry.value) else {
      return false
    }
    guard PathKey.isPriority(entry.key) else { return true }
    guard case .leaf(let leaf, nil) = decoded else { return false }
    return Priority(leaf) != nil
  }

  /// The entries of a run whose large leaves are damaged.
  private func damagedLeaves(
    _ key: Bytes, _ value: Bytes, _ info: TreeInfo
  ) throws(StoreError) -> [Entry] {
    let reader = reader(info.id)
    let entries = try reader.merged(RunHead(storeKey: key, value: value))
    var damaged: [Entry] = []
    for index in entries.indices where entries.isLargeLeaf(index) {
      let isDamaged = try meetsDamage { () throws(StoreError) in
        guard info.order != .documents else {
          return try reader.readability(ofLarge: entries[index], in: key) == .damaged
        }
        guard case .largeLeaf(let reference, _) = entries.leaf(index) else { return true }
        _ = try reader.leaf(reference, in: key)
        return false
      }
      if isDamaged { damaged.append(entries[index]) }
    }
    return damaged
  }

  /// Drops a run that cannot be read, with the following runs that cannot be read either; or drops
  /// the large leaves that are damaged.
  func dropRuns(_ storeKey: Bytes, _ info: TreeInfo) throws(StoreError) {
    guard let value = try tx.value(Spaces.runs, storeKey) else { return }
    guard try isUnreadable(storeKey, value, info) else {
      return try dropLeaves(try damagedLeaves(storeKey, value, info), info)
    }
    var ranges = try held(storeKey, value, info)
    ranges.append(try dropRun(storeKey, info))
    var after = storeKey
    let prefix = StoreKey.prefix(info.id)
    for _ in 0..<Self.neighbours {
      guard let next = try tx.keys(Spaces.runs, prefix: prefix, after: after, limit: 1).first
      else { break }
      after = next
      let isIntact = try isIntact(next)
      if !isIntact { ranges.append(try dropRun(next, info)) }
    }
    try markIncomplete(ranges, info)
    try rebuildOverlays(info)
  }

  /// The ranges of a run's entries, even when they do not fit its key; empty if they cannot be
  /// read.
  private func held(
    _ key: Bytes, _ value: Bytes, _ info: TreeInfo
  ) throws(StoreError) -> [PruneRanges.KeyRange] {
    var ranges: [PruneRanges.KeyRange] = []
    _ = try meetsDamage { () throws(StoreError) in
      let entries = try reader(info.id).merged(RunHead(storeKey: key, value: value))
      if let first = entries.first, let last = entries.last {
        ranges = [PruneRanges.KeyRange(low: first.key, high: last.key + [PathKey.endMark])]
      }
      return false
    }
    return ranges
  }

  /// Whether a run's record is intact; true if the store does not return its bytes.
  private func isIntact(_ key: Bytes) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try tx.get(Spaces.runs, key) { value in
        value.withUnsafeBytes { Record.isIntact(Spaces.runs, key, $0) }
      } ?? true
    } catch {
      // One that the store itself does not lend is made readable when it is read.
      guard error.code == .damaged else { throw error }
      return true
    }
  }

  /// Drops a run; mending the tree removes its deltas and large leaves.
  ///
  /// - Returns: where its leaves may lie.
  func dropRun(_ storeKey: Bytes, _ info: TreeInfo) throws(StoreError) -> PruneRanges.KeyRange {
    let range = try range(storeKey)
    try moveToReports(Spaces.runs, storeKey, .cacheRangeDropped, words(range.low, info.order))
    try MendingMarker.add(tx, info.id)
    return range
  }

  private func dropLeaves(_ leaves: [Entry], _ info: TreeInfo) throws(StoreError) {
    let editor = tx.editor(info.id)
    var ranges: [PruneRanges.KeyRange] = []
    for entry in leaves {
      var found = Bytes()
      if let number = LargeLeaf.number(entry) {
        let prefix = LargeLeaf.prefix(info.id, number)
        found =
          try tx.first(Spaces.chunks, atOrAfter: prefix)
          .flatMap { $0.key.starts(with: prefix) ? $0.value : nil } ?? []
      }
      try Incidents.add(
        tx,
        Incident(
          kind: .cacheRangeDropped, tree: info.id, place: words(entry.key, info.order),
          bytes: Bytes(found.prefix(Incidents.maximumCacheBytes))))
      try editor.delete(entry.key)
      ranges.append(PruneRanges.KeyRange(low: entry.key, high: entry.key + [PathKey.endMark]))
    }
    try tx.flush(info.id)
    try markIncomplete(ranges, info)
    try rebuildOverlays(info)
    // The chunks' contribution to the counts is not known.
    try MendingMarker.add(tx, info.id)
  }
}
