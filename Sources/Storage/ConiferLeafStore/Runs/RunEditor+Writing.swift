package import ConiferKeyValue

// Writing what was changed.
extension RunEditor {
  /// A run's deltas together stay below this, whatever the run's size.
  private static let largestDeltas = 4 << 10

  /// Writes every changed run into the commit, and updates the followers. A run that lost its first
  /// leaves is stored under another, later key.
  package func flush() throws(StoreError) {
    for follower in followers ?? [] { try follower.flush(self) }
    try tx.adaptSizing(to: tree)
    for key in loaded.keys.sorted(by: bytesPrecede) {
      // The rewrite of an earlier run may have joined this one to it.
      if let run = loaded[key], run.isDirty { try write(run) }
    }
    loaded = [:]
  }

  private func write(_ run: LoadedRun) throws(StoreError) {
    if run.entries.isEmpty {
      try remove(run)
      try tx.countTree(tree, leaves: -run.countedLeaves, raw: -run.countedRaw)
    } else if let number = run.number, !run.changes.needsRewrite, isWorthADelta(run) {
      try writeDelta(run, number)
    } else if run.hasOnlyGrown, tx.sizing.isFull(stored: run.storedSize, raw: run.countedRaw.runs),
      try appendRuns(run)
    {
      return
    } else {
      try rewrite(run)
    }
  }

  private func isWorthADelta(_ run: LoadedRun) -> Bool {
    // The last sequence number of a delta is in use.
    if avoidsDeltas || run.deltas.last.map({ Self.sequence($0.key) == .max }) ?? false {
      return false
    }
    let size = run.deltas.reduce(0) { $0 + $1.size } + run.changes.weight
    return size <= min(run.storedSize / 4, Self.largestDeltas) && run.deltas.count < 16
  }

  private func writeDelta(_ run: LoadedRun, _ number: UInt64) throws(StoreError) {
    let leaves = run.entries.count - run.countedLeaves
    let (payload, rawCount) = DeltaRecord.payload(
      run.changes.list, leaves: leaves, try Packing(tx, tree))
    let sequence = run.deltas.last.map { Self.sequence($0.key) &+ 1 } ?? 0
    try tx.put(Spaces.deltas, DeltaRecord.key(tree, number, sequence), payload: payload)
    try tx.countTree(tree, leaves: leaves, raw: RawBytes(deltas: rawCount))
  }

  private static func sequence(_ delta: Bytes) -> UInt32 {
    delta.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  func remove(_ run: LoadedRun) throws(StoreError) {
    guard run.number != nil else { return }
    try tx.delete(Spaces.runs, run.storeKey)
    for (key, _) in run.deltas { try tx.delete(Spaces.deltas, key) }
  }

  /// Stores the entries that were appended to a full run as runs of their own; false when no key is left.
  private func appendRuns(_ run: LoadedRun) throws(StoreError) -> Bool {
    let packing = try Packing(tx, tree)
    let next = try reader.run(after: run.storeKey)
    guard
      let pieces = tx.sizing.split(
        run, from: run.untouched, before: next, packing, cutLength: reader.cutLength)
    else { return false }
    for piece in pieces {
      try store(run.entries, piece, number: try tx.nextRunNumber(tree), packing)
    }
    return true
  }

  private func rewrite(_ first: LoadedRun) throws(StoreError) {
    var run = first
    run.untouched = 0
    let packing = try Packing(tx, tree)
    var next = try reader.run(after: run.storeKey)
    var pieces = tx.sizing.split(
      run, from: 0, before: next, packing, cutLength: reader.cutLength)
    while pieces == nil, let storeKey = next?.storeKey {
      // When no ordinal is left between cut keys, the neighbour is joined, so that both get new
      // keys.
      let neighbour = try load(storeKey)
      loaded[storeKey] = nil
      try remove(neighbour)
      try tx.countTree(tree, leaves: -neighbour.countedLeaves, raw: -neighbour.countedRaw)
      run.entries.append(neighbour.entries, 0..<neighbour.entries.count)
      next = try reader.run(after: run.storeKey)
      pieces = tx.sizing.split(
        run, from: 0, before: next, packing, cutLength: reader.cutLength)
    }
    guard let pieces else { throw Damage.error(Spaces.runs, run.storeKey) }
    for (key, _) in run.deltas { try tx.delete(Spaces.deltas, key) }
    if run.number != nil, pieces.first?.key.storeKey != run.storeKey {
      try tx.delete(Spaces.runs, run.storeKey)
    }
    try tx.countTree(tree, leaves: -run.countedLeaves, raw: -run.countedRaw)
    for (index, piece) in pieces.enumerated() {
      let number =
        if index == 0, let number = run.number { number } else { try tx.nextRunNumber(tree) }
      try store(run.entries, piece, number: number, packing)
    }
  }

  private func store(
    _ entries: EntryList, _ piece: RunPiece, number: UInt64, _ packing: Packing
  ) throws(StoreError) {
    let (packed, key) = (piece.packed, piece.key)
    let head = RunHead(
      storeKey: key.storeKey, fullSeparator: key.fullSeparator, number: number, packed)
    try tx.put(Spaces.runs, key.storeKey, value: head.value)
    try tx.countRun(tree, packed, packing)
    // An import appends behind the run that it wrote last.
    if packed.range.upperBound == entries.count, !tx.leaves.generations.withRuns(\.isOff) {
      var own = EntryList()
      own.append(entries, packed.range)
      let run = DecodedRun(head, [], own)
      tx.leaves.generations.withRuns { $0.setLastWritten(run, tree) }
    }
  }
}
