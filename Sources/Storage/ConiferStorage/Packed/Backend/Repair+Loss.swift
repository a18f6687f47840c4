import ConiferKeyValue

extension Repair {
  /// Reports what the store had to leave out when it was opened, and makes all that is left agree
  /// again: no query counts as complete, and totals are counted anew.
  ///
  /// It is not known which records the lost commits wrote, so nothing of the cache is taken for
  /// known any more.
  func settle(_ findings: [StoreFinding]) throws(StoreError) {
    for finding in findings {
      try Incidents.add(
        tx,
        Incident(
          kind: .recordSetAside, tree: TreeID(rawValue: 0), place: finding.words, bytes: []))
    }
    for info in try Trees.readable(tx) {
      try dropOverlaps(info)
      try dropOrphans(info.id)
      let editor = QueryEditor(tx, info)
      for stored in try editor.queries.window(after: nil, limit: .max) {
        try forget(stored.query, stored.id, editor)
      }
      try rebuildQueryIndex(info)
      for lane in try QueueReader.lanes(tx, info.id) {
        try recountLane(try QueueReader(tx, lane, info.order, codec), newestIsLost: true)
      }
      try recount(info.id)
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
