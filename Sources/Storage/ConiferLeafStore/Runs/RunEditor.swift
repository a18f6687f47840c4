package import ConiferKeyValue

/// Changes the entries of one tree within a commit. A run is loaded when it is first touched and changed in
/// memory; `flush` writes the changed runs, as deltas where the change is small.
package final class RunEditor {
  package let tx: LeafTransaction
  package let tree: TreeID
  package let reader: RunReader
  /// Whether changed runs are always rewritten, so that what is removed frees its bytes at once.
  package var avoidsDeltas = false
  /// The runs that were touched, by key.
  var loaded: [Bytes: LoadedRun] = [:]
  /// What follows the leaves, found at the first change.
  var followers: [any LeafFollower]?
  /// The run that was found last, while no record of a run changes.
  private var located: Located?

  /// A run and, once it was looked for, the next one.
  private struct Located {
    enum Next {
      case unknown
      case known(RunHead?)
    }

    let head: RunHead
    var next = Next.unknown
    /// The transaction's count of changes for which it holds.
    let changes: Int
  }

  package init(_ tx: LeafTransaction, _ tree: TreeID) {
    self.tx = tx
    self.tree = tree
    self.reader = RunReader(view: tx, tree: tree)
  }

  // MARK: Looking

  /// The stored run that a path key belongs to; nil when all runs begin after it.
  package func run(covering key: Bytes) throws(StoreError) -> RunHead? {
    if let located, located.changes == tx.runChanges,
      compareBytes(located.head.separator, key) <= 0
    {
      let next = try run(after: located.head.storeKey)
      let isBefore = next.map { !$0.isDamaged && !$0.isCut && bytesPrecede(key, $0.separator) }
      if isBefore ?? true { return located.head }
    }
    let head = try reader.run(covering: key)
    located = nil
    // A separator that is cut tells less than the run does.
    guard let head, !head.isDamaged, !head.isCut else { return head }
    located = Located(head: head, changes: tx.runChanges)
    return head
  }

  /// The stored run after a store key.
  package func run(after storeKey: Bytes) throws(StoreError) -> RunHead? {
    guard let located, located.changes == tx.runChanges, located.head.storeKey == storeKey else {
      return try reader.run(after: storeKey)
    }
    if case .known(let next) = located.next { return next }
    let next = try reader.run(after: storeKey)
    self.located?.next = .known(next)
    return next
  }

  /// The last entry before a path key, with the edits so far.
  package func lastEntry(before key: Bytes) throws(StoreError) -> Entry? {
    var cursor = LeafCursor(self, [], key)
    return try cursor.last() ? cursor.entries[cursor.index] : nil
  }

  /// The first entry in `low ..< high`, with the edits so far.
  package func firstEntry(_ low: Bytes, _ high: Bytes) throws(StoreError) -> Entry? {
    var cursor = LeafCursor(self, low, high)
    return try cursor.first() ? cursor.entries[cursor.index] : nil
  }

  /// The entries of a run with the edits so far; an unchanged run is not kept in memory.
  func peek(_ run: FoundRun) throws(StoreError) -> EntryList {
    if let loaded = loaded[run.storeKey] { return loaded.entries }
    return try reader.entries(run)
  }

  // MARK: Changing

  /// Replaces all entries in `low ..< high`.
  ///
  /// - Parameter new: entries within the range, ascending.
  /// - Returns: whether anything changed.
  @discardableResult
  package func replace(_ low: Bytes, _ high: Bytes, with given: EntryList) throws(StoreError)
    -> Bool
  {
    let new = try numbered(given)
    let followers = if let followers { followers } else { try tx.followers(tree) }
    self.followers = followers
    for follower in followers { try follower.willReplace(low, high, with: new, in: self) }
    var isChanged = false
    var index = 0
    var place = try foundRun(covering: low)?.storeKey
    if place == nil {
      place = new.isEmpty ? try foundRun(after: nil)?.storeKey : makeFirst()
    }
    while let storeKey = place {
      let next = try run(after: storeKey)
      // New entries belong to this run up to where the next one begins.
      let end = next.map { new.lowerBound($0.separator, from: index) } ?? new.count
      let part = index..<end
      index = end
      var isDropped = false
      if part.isEmpty {
        isDropped = try dropWhole(storeKey, end: next?.separator, low, high)
      }
      if isDropped {
        isChanged = true
      } else if try change(storeKey, low, high, new, part) {
        isChanged = true
      }
      guard let next, compareBytes(next.separator, high) < 0 else { break }
      place = next.storeKey
    }
    return isChanged
  }

  /// The entries, with numbers assigned to their large leaves.
  private func numbered(_ list: EntryList) throws(StoreError) -> EntryList {
    guard list.hasContents else { return list }
    return try list.replacingContents { (entry, content) throws(StoreError) in
      try LargeLeaf.numbered(
        entry, content, replacing: try firstEntry(entry.key, entry.key + [0]), self)
    }
  }

  /// Stores entries; each replaces the one with its key. Other entries do not change.
  ///
  /// - Parameter given: ascending, no key twice.
  package func put(_ given: EntryList) throws(StoreError) {
    let new = try numbered(given)
    let followers = if let followers { followers } else { try tx.followers(tree) }
    self.followers = followers
    var index = 0
    while index < new.count {
      let key = new.key(index)
      let storeKey = try foundRun(covering: key)?.storeKey ?? makeFirst()
      let next = try run(after: storeKey)
      let end = next.map { new.lowerBound($0.separator, from: index) } ?? new.count
      // A separator that is cut tells less than the run does.
      let part = index..<max(end, index + 1)
      try put(new, part, in: storeKey, followers)
      index = part.upperBound
    }
  }

  /// Stores entries that belong to one run.
  private func put(
    _ new: EntryList, _ part: Range<Int>, in storeKey: Bytes, _ followers: [any LeafFollower]
  ) throws(StoreError) {
    var run = try load(storeKey)
    var places: [(at: Int, isThere: Bool)] = []
    places.reserveCapacity(part.count)
    var at = 0
    for index in part {
      at = run.entries.lowerBound(of: new, index, from: at)
      let isThere = at < run.entries.count && run.entries.hasEqualKey(at, new, index)
      places.append((at, isThere))
      for follower in followers {
        try follower.willPut(index, of: new, over: isThere ? at : nil, of: run, in: self)
      }
      if isThere { at += 1 }
    }
    guard let first = places.first else { return }
    var changes = run.changes
    let limit = run.storedSize / 4
    var isChanged = false
    if first.at == run.entries.count {
      // All new entries come after the stored ones, as in an import.
      isChanged = true
      for index in part where new.isLargeLeaf(index) {
        try changeChunks(run.entries, nil, new, index)
      }
      changes.record(new, part, limit: limit)
    } else {
      for (place, index) in zip(places, part) {
        if place.isThere, run.entries.hasEqualValue(place.at, new, index) { continue }
        isChanged = true
        let old = place.isThere ? place.at : nil
        try changeChunks(run.entries, old, new, index)
        changes.record(run.entries, old, new, index, limit: limit)
      }
    }
    guard isChanged else { return }
    loaded[storeKey] = nil  // The only copy, so that its list is changed in place.
    run.entries.put(new, part, at: places)
    run.untouched = min(run.untouched, first.at)
    run.changes = changes
    run.isDirty = true
    loaded[storeKey] = run
  }

  /// Stores one entry.
  package func put(_ entry: Entry) throws(StoreError) {
    var entries = EntryList()
    entries.append(entry)
    try put(entries)
  }

  /// Removes one entry.
  package func delete(_ key: Bytes) throws(StoreError) {
    try replace(key, key + [0], with: EntryList())
  }

  /// Drops a run that lies within a range without decoding it; false when that cannot be done.
  ///
  /// - Parameter end: where the next run begins; nil when there is none.
  private func dropWhole(
    _ storeKey: Bytes, end: Bytes?, _ low: Bytes, _ high: Bytes
  ) throws(StoreError) -> Bool {
    guard let end, compareBytes(end, high) <= 0 else { return false }
    if let run = loaded[storeKey] {
      // What a changed run holds differs from its record.
      guard !run.isDirty, run.number != nil, compareBytes(low, run.separator) <= 0,
        !run.entries.indices.contains(where: run.entries.isLargeLeaf)
      else { return false }
      loaded[storeKey] = nil
      try remove(run)
      try tx.countTree(tree, leaves: -run.countedLeaves, raw: -run.countedRaw)
      return true
    }
    guard let value = try tx.value(Spaces.runs, storeKey) else { return false }
    let head = try RunHead(storeKey: storeKey, value: value)
    guard compareBytes(low, head.separator) <= 0, head.flags & RunHead.hasLargeLeaves == 0,
      try tx.keys(Spaces.deltas, prefix: DeltaRecord.prefix(tree, head.number), limit: 1).isEmpty
    else { return false }
    try tx.delete(Spaces.runs, storeKey)
    try tx.countTree(tree, leaves: -head.count, raw: -RawBytes(runs: head.rawCount))
    return true
  }

  /// Replaces the entries of a run within a range by part of another list.
  private func change(
    _ storeKey: Bytes, _ low: Bytes, _ high: Bytes, _ new: EntryList, _ part: Range<Int>
  ) throws(StoreError) -> Bool {
    var run = try load(storeKey)
    let range = run.entries.lowerBound(low)..<run.entries.lowerBound(high)
    var isChanged = false
    var changes = run.changes
    if range.isEmpty {
      // Nothing is stored there, as in an import: no comparison is needed.
      isChanged = !part.isEmpty
      for index in part where new.isLargeLeaf(index) {
        try changeChunks(run.entries, nil, new, index)
      }
      changes.record(new, part, limit: run.storedSize / 4)
    } else {
      try run.entries.differences(range, from: new, part) { (old, index) throws(StoreError) in
        isChanged = true
        try changeChunks(run.entries, old, new, index)
        changes.record(run.entries, old, new, index, limit: run.storedSize / 4)
      }
    }
    guard isChanged else { return false }
    loaded[storeKey] = nil  // The only copy, so that its list is changed in place.
    run.entries.replace(range, with: new, part)
    run.untouched = min(run.untouched, range.lowerBound)
    run.changes = changes
    run.isDirty = true
    loaded[storeKey] = run
    return true
  }

  /// Writes the chunks of large leaves that a change adds, and deletes those of the ones that it
  /// removes.
  private func changeChunks(
    _ entries: EntryList, _ old: Int?, _ list: EntryList, _ new: Int?
  ) throws(StoreError) {
    let old = old.flatMap { entries.isLargeLeaf($0) ? entries[$0] : nil }
    let new = new.flatMap { list.isLargeLeaf($0) ? list[$0] : nil }
    let (oldNumber, newNumber) = (old.flatMap(LargeLeaf.number), new.flatMap(LargeLeaf.number))
    // The content is the same and keeps its number: only a priority changed.
    guard oldNumber != newNumber else { return }
    if let new { try LargeLeaf.write(tx, tree, new) }
    if let old { try LargeLeaf.delete(tx, tree, old) }
  }

  // MARK: Runs in memory

  package func load(_ storeKey: Bytes) throws(StoreError) -> LoadedRun {
    if let run = loaded[storeKey] { return run }
    let found = try reader.run(at: storeKey)
    let stored = try reader.decoded(
      tx.leaves.generations.withRuns { $0.withLastWritten(found, tree) })
    let head = stored.head
    let run = LoadedRun(
      storeKey: storeKey, separator: head.separator, isCut: head.isCut, number: head.number,
      entries: stored.entries, untouched: stored.entries.count, storedCount: stored.entries.count,
      storedSize: head.value.count, countedLeaves: stored.leaves, countedRaw: stored.raw,
      deltas: stored.deltas.map { ($0.key, $0.value.count) })
    loaded[storeKey] = run
    return run
  }

  /// Makes a run before all others, for entries that come before every stored run.
  private func makeFirst() -> Bytes {
    let storeKey = StoreKey.prefix(tree)
    loaded[storeKey] = LoadedRun(storeKey: storeKey, separator: [], isCut: false, number: nil)
    return storeKey
  }

  package var hasUnstoredFirst: Bool {
    loaded[StoreKey.prefix(tree)].map { $0.number == nil } ?? false
  }

  /// Loads a run so that `flush` rewrites it with its deltas; for housekeeping.
  package func fold(_ storeKey: Bytes) throws(StoreError) {
    var run = try load(storeKey)
    run.untouched = 0
    run.isDirty = true
    run.changes.requireRewrite()
    loaded[storeKey] = run
  }

  /// Moves the entries of a run to the end of the one before, for housekeeping.
  package func join(_ storeKey: Bytes, into previous: Bytes) throws(StoreError) {
    let run = try load(storeKey)
    var target = try load(previous)
    target.entries.append(run.entries, 0..<run.entries.count)
    target.untouched = 0
    target.isDirty = true
    target.changes.requireRewrite()
    loaded[previous] = target
    loaded[storeKey] = nil
    try remove(run)
    try tx.countTree(tree, leaves: -run.countedLeaves, raw: -run.countedRaw)
  }
}
