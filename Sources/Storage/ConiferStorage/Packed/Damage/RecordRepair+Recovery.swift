import ConiferKeyValue
import ConiferLeafStore

extension RecordRepair {
  /// Reports what the store left out. It is not known which records are missing, so new numbers
  /// begin above all that may have been used, and the store's own records are counted again.
  func report(_ words: [String]) throws(StoreError) {
    for words in words {
      try Incidents.add(
        tx,
        Incident(kind: .recordSetAside, tree: TreeID(rawValue: 0), place: words, bytes: []))
    }
    try QueueFloor.raise(tx)
    try MendingMarker.add(tx, TreeID(rawValue: 0))
  }

  /// Reports that the store lacks its newest durable commits, or may lack them. Writes that were queued
  /// by them had numbers, so that all lanes go on above those.
  ///
  /// No lane is read for that: one that is damaged, or whose key is not given, gets its numbers above
  /// the floor too.
  func report(_ loss: LostCommits) throws(StoreError) {
    try Incidents.add(
      tx,
      Incident(kind: .recordSetAside, tree: TreeID(rawValue: 0), place: loss.words, bytes: []))
    tx.effects.reportsLoss = true
    try QueueFloor.raise(tx, steps: loss.floorSteps)
  }

  /// Lets the tracked queries of a tree go on above all numbers that lost ones may have had.
  func skipQueryNumbers(_ tree: TreeID) throws(StoreError) {
    guard let info = try Trees.info(tx, tree) else { return }
    try QueryEditor(tx, info).skipNumbers()
  }

  /// Makes the records of a tree or lane consistent after some of them were removed. A lane's
  /// totals are counted again, and it keeps its newest number.
  func reconcile(_ scope: StoreScope) throws(StoreError) {
    guard let tree = scope.tree, let info = try Trees.info(tx, tree) else { return }
    if let lane = scope.lane {
      try recountLane(try QueueReader(tx, lane, info.order, tx.leaves.codec), newestIsLost: false)
      try rebuildQueueIndex(info)
      try rebuildOverlays(lane, info)
      return try MendingMarker.add(tx, info.id)
    }
    try QueueFloor.raise(tx)
    try reconcile(info)
  }

  /// Makes the records of a tree consistent again: no query counts as complete, and totals and
  /// indexes are rebuilt. Nothing in the cache counts as known any more.
  func reconcile(_ info: TreeInfo) throws(StoreError) {
    // The highest number that was used may be lost too.
    try loseUsage(info.id)
    try restartIndexes(info.id)
    try dropOverlaps(info)
    try reconcileQueries(info)
    // This also removes the keys of lost queries. For documents, mending the tree does that.
    if info.order != .documents {
      try tx.deleteAll(Spaces.queryKeys, prefix: StoreKey.prefix(info.id))
    }
    try reconcileQueues(info)
    try MendingMarker.add(tx, info.id)
  }

  /// Makes the tracked queries of a tree consistent again after some of their records were lost: none counts as complete.
  func reconcileQueries(_ info: TreeInfo) throws(StoreError) {
    try MatchesVersions(tx: tx, tree: info.id).forgetAll()
    let editor = QueryEditor(tx, info)
    // This precedes saving any query, since the row of the newest query may be lost.
    try editor.skipNumbers()
    try editor.queries.forEach { (stored) throws(StoreError) in
      try markIncomplete(stored.query, stored.id, editor)
    }
    try rebuildQueryIndex(info)
  }

  /// Makes the queues of a tree consistent again after some of their records were lost. Their numbers go on above all that
  /// may have been used.
  func reconcileQueues(_ info: TreeInfo) throws(StoreError) {
    for lane in try lanes(info.id) {
      try recountLane(try QueueReader(tx, lane, info.order, tx.leaves.codec), newestIsLost: true)
    }
    try rebuildQueueIndex(info)
    try rebuildOverlays(info)
  }

  /// All lanes of which a tree has a record. A lane's own rows may be lost, and its numbers must
  /// not repeat.
  private func lanes(_ tree: TreeID) throws(StoreError) -> [Lane] {
    let waiting = try QueueReader.lanes(tx, tree)
    let others = try QueueReader.lanes(tx, tree, in: Spaces.finished)
    return waiting + others.filter { !waiting.contains($0) }
  }

  /// Rebuilds the index of the queued writes' paths.
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

  /// Drops runs with overlapping ranges. A lost commit had removed one of them, or split it, before
  /// the other was written; nothing shows which one is right.
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
    // Queries need not be marked incomplete, since all of them were.
    for storeKey in overlapping.sorted(by: bytesPrecede) { _ = try dropRun(storeKey, info) }
  }
}
