import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The state of a check between the runs of one tree.
private struct RunTrail {
  /// Of the run before.
  var separator: Bytes?
  /// The last key of the runs before; nil when that is not known.
  var last: Bytes?
  var numbers: Set<UInt64> = []
  /// Large leaves that entries refer to.
  var largeLeaves: Set<UInt64> = []
}

extension Verifier {
  /// Checks runs with their deltas and large leaves: that they are readable and in order, and do not overlap.
  ///
  /// It does not use a cursor and applies deltas itself. A cursor ends at the first damage and uses
  /// cached runs, whereas this check reports every finding, from the records alone, and compares
  /// each run with and without its deltas.
  func checkRuns() throws(StoreError) {
    var trails: [TreeID: RunTrail] = [:]
    try scan(Spaces.runs) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      guard let info = trees[tree] else { throw Damage.error(Spaces.runs, key) }
      // It is moved out of the dictionary, so that its sets are changed in place.
      var trail = trails.removeValue(forKey: tree) ?? RunTrail()
      defer { trails[tree] = trail }
      // After a run that cannot be read, the preceding keys are not known.
      let before = trail.last
      trail.last = nil
      let head = try RunHead(storeKey: key, value: value)
      checkHead(head, &trail)
      let reader = RunReader(view: snapshot, tree: tree)
      let entries = try reader.entries(head)
      checkBody(head, entries)
      guard let merged = try changed(head, entries, reader) else { return }
      if let first = merged.first?.key, compareBytes(first, head.separator) < 0 {
        found(.order, Spaces.runs, key, "a leaf lies before the beginning of its run")
      }
      if let before, compareBytes(before, head.separator) >= 0 {
        found(.order, Spaces.runs, key, "the run begins before the end of the one in front of it")
      }
      var last = before
      for index in merged.indices {
        try checkEntry(merged, index, after: last, info, reader, &trail)
        last = merged.key(index)
      }
      trail.last = last
      count { $0.leaves += merged.count }
      if info.order == .documents { count { $0.documents += merged.count } }
    }
    for (tree, trail) in trails {
      if let last = trail.last, let info = trees[tree] { checkPriority(last, before: nil, info) }
    }
    try checkDeltas(trails.mapValues(\.numbers))
    try checkChunks(trails.mapValues(\.largeLeaves))
  }

  private func checkHead(_ head: RunHead, _ trail: inout RunTrail) {
    let key = head.storeKey
    let tree = StoreKey.tree(key)
    count { $0.runs += 1 }
    counted[tree, default: UsageRow()].leaves.add(head.count)
    counted[tree, default: UsageRow()].raw.runs.add(head.rawCount)
    let next = counted[tree]?.nextRun ?? 1
    counted[tree]?.nextRun = max(next, head.number + 1)
    if !trail.numbers.insert(head.number).inserted {
      found(.number, Spaces.runs, key, "two runs have the number \(head.number)")
    }
    if let separator = trail.separator, compareBytes(separator, head.separator) >= 0 {
      found(.order, Spaces.runs, key, "the runs are not in order")
    }
    trail.separator = head.separator
    let cut = snapshot.leaves.cutLength
    let own = key.dropFirst(4)
    let isRight =
      head.isCut
      ? own.count - 8 == cut && head.separator.starts(with: own.prefix(cut)) : own.count < cut
    if !isRight { found(.order, Spaces.runs, key, "the run stands under a wrong key") }
  }

  /// Checks what a run's head says of its entries.
  private func checkBody(_ head: RunHead, _ entries: EntryList) {
    let key = head.storeKey
    if entries.count != head.count || RunBody.shared(entries, entries.indices) < head.shared {
      found(.content, Spaces.runs, key, "the run's head does not fit its entries")
    }
    if head.flags & RunHead.hasLargeLeaves == 0,
      entries.indices.contains(where: { entries.isLargeLeaf($0) })
    {
      found(.content, Spaces.runs, key, "the run's head does not tell of its large leaves")
    }
  }

  /// The entries of a run with its deltas; nil when a delta cannot be read.
  private func changed(
    _ head: RunHead, _ entries: EntryList, _ reader: RunReader
  ) throws(StoreError) -> EntryList? {
    let deltas = try reader.deltas(head.number)
    guard !deltas.isEmpty else { return entries }
    let merged = entries.merged(deltas.flatMap(\.delta.changes))
    var growth = 0
    for change in deltas { growth.add(change.delta.head.leaves) }
    if growth != merged.count - entries.count {
      found(
        .count, Spaces.runs, head.storeKey,
        "the run's deltas count \(growth) more leaves, and there are "
          + "\(merged.count - entries.count)")
    }
    return merged
  }

  // MARK: Entries

  private func checkEntry(
    _ entries: EntryList, _ index: Int, after last: Bytes?, _ info: TreeInfo, _ reader: RunReader,
    _ trail: inout RunTrail
  ) throws(StoreError) {
    let key = entries.key(index)
    guard let path = PathKey.path(key, info.order) else {
      return found(.content, info, at: key, "the leaf's key is no path")
    }
    let isPriority = PathKey.isPriority(key)
    if PathKey.encode(path, info.order) + (isPriority ? [PathKey.priorityMark] : []) != key {
      found(.content, info, at: key, "the leaf's key is not how its path is written")
    }
    if let last {
      if key.starts(with: last) {
        found(.order, info, at: last, "a leaf stands above \(path)")
      }
      checkPriority(last, before: key, info)
    }
    guard info.order != .documents else {
      return try checkDocument(entries[index], info, reader, &trail)
    }
    guard let decoded = entries.leaf(index) else {
      return found(.content, info, at: key, "the leaf cannot be read")
    }
    switch decoded {
    case .leaf(let leaf, let priority):
      if isPriority, Priority(leaf) == nil || priority != nil {
        found(.content, info, at: key, "the priority is none")
      }
    case .largeLeaf(let reference, _):
      if !trail.largeLeaves.insert(reference.number).inserted {
        found(.number, info, at: key, "another leaf has the parts of this one")
      }
      count { $0.largeLeaves += 1 }
      try reading(Spaces.chunks, LargeLeaf.prefix(info.id, reference.number)) {
        () throws(StoreError) in
        let content = try LargeLeaf.read(reader, reference)
        if LeafCodec.decode(content) == nil {
          self.found(.content, info, at: key, "the large leaf is not the one that was stored")
        }
      }
    }
  }

  private func checkDocument(
    _ entry: Entry, _ info: TreeInfo, _ reader: RunReader, _ trail: inout RunTrail
  ) throws(StoreError) {
    switch DocumentRecord.readability(entry) {
    case .readable: break
    case .newer: return isNewer(info)
    case .damaged: return found(.content, info, at: entry.key, "the document cannot be read")
    }
    guard let number = LargeLeaf.number(entry) else { return }
    if !trail.largeLeaves.insert(number).inserted {
      found(.number, info, at: entry.key, "another document has the chunks of this one")
    }
    count { $0.largeLeaves += 1 }
    try reading(Spaces.chunks, LargeLeaf.prefix(info.id, number)) { () throws(StoreError) in
      switch try reader.readability(ofLarge: entry, in: StoreKey.prefix(info.id)) {
      case .readable: break
      case .newer: isNewer(info)
      case .damaged:
        self.found(
          .content, info, at: entry.key, "the large document is not the one that was stored")
      }
    }
  }

  /// Counts a document that a later version wrote. For its tree, the records that depend on
  /// documents are not compared.
  private func isNewer(_ info: TreeInfo) {
    damaged.insert(info.id)
    count { $0.unknown += 1 }
  }

  /// Checks that the priority of a node is followed by an entry of the same node.
  private func checkPriority(_ last: Bytes, before next: Bytes?, _ info: TreeInfo) {
    guard PathKey.isPriority(last), !(next?.starts(with: last.dropLast()) ?? false) else { return }
    found(.orphan, info, at: last, "a priority belongs to a node without children")
  }

  // MARK: Deltas, chunks, dictionaries

  private func checkDeltas(_ runs: [TreeID: Set<UInt64>]) throws(StoreError) {
    try scan(Spaces.deltas) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      guard key.count == 16 else { throw Damage.error(Spaces.deltas, key) }
      let head = try DeltaRecord.Head(key: key, value: value)
      count { $0.deltas += 1 }
      counted[tree, default: UsageRow()].leaves.add(head.leaves)
      counted[tree, default: UsageRow()].raw.deltas.add(head.rawCount)
      let number = StoreKey.numberAfterTree(key)
      if !damaged.contains(tree), !(runs[tree]?.contains(number) ?? false) {
        found(.orphan, Spaces.deltas, key, "the run that it changes is not there")
      }
    }
  }

  private func checkChunks(_ leaves: [TreeID: Set<UInt64>]) throws(StoreError) {
    try scan(Spaces.chunks) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      var reader = ByteReader(value, from: Record.overhead + 1)
      guard key.count == 16, let size = reader.size() else {
        throw Damage.error(Spaces.chunks, key)
      }
      counted[tree, default: UsageRow()].raw.largeLeaves.add(size)
      let number = StoreKey.numberAfterTree(key)
      if !damaged.contains(tree), !(leaves[tree]?.contains(number) ?? false) {
        found(.orphan, Spaces.chunks, key, "no leaf refers to it")
      }
    }
  }

  func checkDictionaries() throws(StoreError) {
    try scan(Spaces.dictionaries) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      let number = DictionaryRecord.number(key)
      var row = counted[tree] ?? UsageRow()
      row.dictionaries += 1
      row.nextDictionary = max(row.nextDictionary, number == .max ? .max : number + 1)
      counted[tree] = row
      guard key.count == 8 else { throw Damage.error(Spaces.dictionaries, key) }
      count { $0.dictionaries += 1 }
      if DictionaryRecord.kind(key, value) != DictionaryRecord.bodies {
        return count { $0.unknown += 1 }
      }
      _ = try DictionaryRecord(key: key, value: value)
    }
  }
}
