import ConiferKeyValue

extension Repair {
  /// Reports what the store had to leave out, and makes all that is left agree again: no query counts
  /// as complete, and totals and indexes are made anew.
  ///
  /// It is not known which records are lacking, so nothing of the cache is taken for known any more.
  func settle(_ words: [String]) throws(StoreError) {
    for words in words {
      try Incidents.add(
        tx,
        Incident(kind: .recordSetAside, tree: TreeID(rawValue: 0), place: words, bytes: []))
    }
    try QueueFloor.raise(tx)
    for info in try Trees.readable(tx) { try settle(info) }
    try recount(TreeID(rawValue: 0))
  }

  /// Makes what is left of a tree or lane agree after records of it were removed; of a lane the
  /// totals are left.
  func settle(_ scope: StoreScope) throws(StoreError) {
    guard let tree = scope.tree, let info = try Trees.info(tx, tree) else { return }
    if let lane = scope.lane {
      try recountLane(try QueueReader(tx, lane, info.order, codec), newestIsLost: false)
      try rebuildQueueIndex(info)
      return try recount(info.id)
    }
    try QueueFloor.raise(tx)
    try settle(info)
    try recount(TreeID(rawValue: 0))
  }

  private func settle(_ info: TreeInfo) throws(StoreError) {
    try restartIndexes(info.id)
    try dropOverlaps(info)
    try dropOrphans(info.id)
    let editor = QueryEditor(tx, info)
    for stored in try editor.queries.window(after: nil, limit: .max) {
      try forget(stored.query, stored.id, editor)
    }
    // Those of lost queries, too.
    try tx.deleteAll(Spaces.queryKeys, prefix: StoreKey.prefix(info.id))
    try rebuildQueryIndex(info)
    try editor.skipNumbers()
    for lane in try lanes(info.id) {
      try recountLane(try QueueReader(tx, lane, info.order, codec), newestIsLost: true)
    }
    try rebuildQueueIndex(info)
    try recount(info.id)
  }

  /// The lanes that a tree has anything of: a lane's own rows may be lost, and its numbers must not
  /// repeat.
  private func lanes(_ tree: TreeID) throws(StoreError) -> [Lane] {
    let waiting = try QueueReader.lanes(tx, tree)
    let others = try QueueReader.lanes(tx, tree, in: Spaces.finished)
    return waiting + others.filter { !waiting.contains($0) }
  }

  /// Writes the index of the queued writes' paths anew, and removes parts that no write has.
  private func rebuildQueueIndex(_ info: TreeInfo) throws(StoreError) {
    try tx.deleteAll(Spaces.queueIndex, prefix: StoreKey.prefix(info.id))
    var withParts: Set<Bytes> = []
    for lane in try QueueReader.lanes(tx, info.id) {
      let editor = try QueueEditor(tx, lane, info.order, codec)
      for kind in [QueueReader.Class.waiting, .rejected] {
        let prefix = editor.reader.prefix + [kind.rawValue]
        for key in try tx.keys(Spaces.queue, prefix: prefix) {
          let id = WriteID(rawValue: IndexKey.number(key))
          guard let found = try editor.reader.find(id) else { continue }
          if found.kind == .waiting { try editor.index(found.write) }
          if found.hasParts { withParts.insert(editor.reader.numbered(id)) }
        }
      }
    }
    for key in try tx.keys(Spaces.queueParts, prefix: StoreKey.prefix(info.id)) {
      if !withParts.contains(Bytes(key.dropLast(4))) { try tx.delete(Spaces.queueParts, key) }
    }
  }

  /// Drops runs whose leaves lie in the same range: a lost commit had removed one of them, or had cut
  /// it in two, before the other was written, and it cannot be told which one is right.
  private func dropOverlaps(_ info: TreeInfo) throws(StoreError) {
    let reader = RunReader(view: tx, tree: info.id, codec: codec, longestKey: longestKey)
    var overlapping: Set<Bytes> = []
    /// The run that reached furthest so far.
    var furthest: (storeKey: Bytes, last: Bytes)?
    var head = try reader.run(after: nil)
    while let run = head {
      head = try reader.run(after: run.storeKey)
      guard let last = try reader.merged(run).last?.key else { continue }
      if let furthest, compareBytes(run.separator, furthest.last) <= 0 {
        overlapping.formUnion([furthest.storeKey, run.storeKey])
        if compareBytes(last, furthest.last) <= 0 { continue }
      }
      furthest = (run.storeKey, last)
    }
    for storeKey in overlapping.sorted(by: bytesPrecede) { try dropRun(storeKey, info) }
  }
}
