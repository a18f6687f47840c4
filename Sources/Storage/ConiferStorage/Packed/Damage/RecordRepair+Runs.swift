import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Repairing runs that cannot be read, or whose deltas or large leaves cannot.
extension RecordRepair {
  /// How many runs behind a damaged one are looked at: damage seldom comes alone, and a repair for each
  /// would go through all queries each time.
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

  /// Whether a run's entries cannot be read, with its deltas, or are not those of its place.
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

  /// The entries of a run whose large leaves are not whole.
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

  /// Drops a run that cannot be read with those behind it that cannot be read either, or the large
  /// leaves that are damaged.
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
    try renewOverlays(info)
  }

  /// The ranges in which a run's entries lie, even if its key says otherwise; none if they are not readable.
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

  /// Whether a run's record is what was written, as far as the store lends it.
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

  /// Drops a run; its deltas and large leaves go when the tree is mended.
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
          bytes: Bytes(found.prefix(Incidents.keptOfCache))))
      try editor.delete(entry.key)
      ranges.append(PruneRanges.KeyRange(low: entry.key, high: entry.key + [PathKey.endMark]))
    }
    try tx.flush(info.id)
    try markIncomplete(ranges, info)
    try renewOverlays(info)
    // What the chunks counted is not known.
    try MendingMarker.add(tx, info.id)
  }
}
