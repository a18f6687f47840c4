import ConiferKeyValue
import ConiferLeafStore

extension RecordRepair {
  /// Reports what the store had to leave out. As it is not known which records are lacking, new numbers begin above all
  /// that may have been used, and the store's own records are counted anew.
  func report(_ words: [String]) throws(StoreError) {
    for words in words {
      try Incidents.add(
        tx,
        Incident(kind: .recordSetAside, tree: TreeID(rawValue: 0), place: words, bytes: []))
    }
    try QueueFloor.raise(tx)
    try MendingMarker.add(tx, TreeID(rawValue: 0))
  }

  /// Makes what is left of a tree or lane agree after records of it were removed; of a lane the
  /// totals are left.
  func reconcile(_ scope: StoreScope) throws(StoreError) {
    guard let tree = scope.tree, let info = try Trees.info(tx, tree) else { return }
    if let lane = scope.lane {
      try recountLane(try QueueReader(tx, lane, info.order, tx.leaves.codec), newestIsLost: false)
      try rebuildQueueIndex(info)
      try renewOverlays(lane, info)
      return try MendingMarker.add(tx, info.id)
    }
    try QueueFloor.raise(tx)
    try reconcile(info)
  }

  /// Makes what is left of a tree agree again: no query counts as complete, and totals and indexes are
  /// made anew. Nothing of the cache is taken for known any more.
  func reconcile(_ info: TreeInfo) throws(StoreError) {
    // The highest number that was used may be lost too.
    try loseUsage(info.id)
    try MatchesVersions(tx: tx, tree: info.id).forgetAll()
    try restartIndexes(info.id)
    try dropOverlaps(info)
    let editor = QueryEditor(tx, info)
    // Before any is saved: the row behind them may be lost.
    try editor.skipNumbers()
    try editor.queries.forEach { (stored) throws(StoreError) in
      try markIncomplete(stored.query, stored.id, editor)
    }
    // Those of lost queries, too; of documents, they go when the tree is mended.
    if info.order != .documents {
      try tx.deleteAll(Spaces.queryKeys, prefix: StoreKey.prefix(info.id))
    }
    try rebuildQueryIndex(info)
    for lane in try lanes(info.id) {
      try recountLane(try QueueReader(tx, lane, info.order, tx.leaves.codec), newestIsLost: true)
    }
    try rebuildQueueIndex(info)
    try renewOverlays(info)
    try MendingMarker.add(tx, info.id)
  }

  /// The lanes that a tree has anything of: a lane's own rows may be lost, and its numbers must not
  /// repeat.
  private func lanes(_ tree: TreeID) throws(StoreError) -> [Lane] {
    let waiting = try QueueReader.lanes(tx, tree)
    let others = try QueueReader.lanes(tx, tree, in: Spaces.finished)
    return waiting + others.filter { !waiting.contains($0) }
  }

  /// Writes the index of the queued writes' paths anew.
  private func rebuildQueueIndex(_ info: TreeInfo) throws(StoreError) {
    try tx.deleteAll(Spaces.queueIndex, prefix: StoreKey.prefix(info.id))
    for lane in try QueueReader.lanes(tx, info.id) {
      let editor = try QueueEditor(tx, lane, info.order, tx.leaves.codec)
      let prefix = editor.reader.prefix + [QueueReader.Section.unanswered.rawValue]
      var after: Bytes?
      while true {
        let some = try tx.entries(Spaces.queue, prefix: prefix, after: after, limit: 64)
        for (key, value) in some {
          try editor.index(try editor.reader.found(.unanswered, key, value).entry)
        }
        guard let last = some.last?.key else { break }
        after = last
      }
    }
  }

  /// Drops runs whose leaves lie in the same range: a lost commit had removed one of them, or had cut
  /// it in two, before the other was written, and nothing says which one is right.
  private func dropOverlaps(_ info: TreeInfo) throws(StoreError) {
    let reader = RunReader(view: tx, tree: info.id)
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
    // All queries are forgotten anyway.
    for storeKey in overlapping.sorted(by: bytesPrecede) { _ = try dropRun(storeKey, info) }
  }
}
