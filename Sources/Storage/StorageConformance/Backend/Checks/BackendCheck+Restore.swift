internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Restoring the numbers, outcomes and reports of another store, which a faithful copy needs.
  static let restore: [BackendCheck] = [
    BackendCheck(.queries, "queries restored under their numbers keep them, and none repeats") {
      fixture in
      let pair = try await fixture.pair()
      func stored(_ number: UInt64, _ path: Path, complete: Bool = true) -> StoredQuery {
        StoredQuery(
          id: QueryID(rawValue: number),
          query: TrackedQuery(
            tree: pair.tree, path: path, isComplete: complete, lastUse: number,
            resumeToken: [UInt8(number)]))
      }
      for number in [9, 2, 5] as [UInt64] {
        try await pair.commit(.restoreQuery(stored(number, Path("q/\(number)"))))
      }
      try await pair.commit(.restoreQuery(stored(5, "q/5", complete: false)))
      try pair.requireSame()
      try await pair.refuse("a number that is another query's", .restoreQuery(stored(2, "other")))
      try await pair.refuse("a query that has another number", .restoreQuery(stored(7, "q/9")))
      try await pair.commit(.setTrackedKeys(pair.tree, QueryID(rawValue: 9), ["a", "b"]))
      try await pair.commit(.reserveQueryIDs(pair.tree, through: QueryID(rawValue: 40)))
      try await pair.commit(.reserveQueryIDs(pair.tree, through: QueryID(rawValue: 3)))
      try await pair.reopen()
      try requireEqual(try pair.lastQuery(), QueryID(rawValue: 40), "the last query's number")
      let next = try await pair.commit(.saveQuery(TrackedQuery(tree: pair.tree, path: "new")))
      try requireEqual(next.queries, [QueryID(rawValue: 41)], "the number after a reserved 40")
      try pair.requireSame()
    },
    BackendCheck(.queue, "new writes of all lanes are numbered above the floor") { fixture in
      let pair = try await fixture.pair()
      let lost = Lane(tree: pair.other, identity: "lost")
      try await pair.commit(.enqueue(pair.lane, .set("a", 1)))
      try await pair.commit(.raiseQueueFloor(WriteID(rawValue: 1000)))
      try await pair.commit(.raiseQueueFloor(WriteID(rawValue: 7)))
      try await pair.reopen()
      let floor = try pair.backend.read { (view) throws(StoreError) in try view.queueFloor() }
      try requireEqual(floor, WriteID(rawValue: 1000), "the floor")
      let writes = try await pair.commit(
        .enqueue(lost, .set("b", 1)), .enqueue(pair.lane, .set("a", 2))
      ).writes
      try requireEqual(writes.map(\.rawValue), [1001, 1001], "the numbers of new writes")
      try pair.requireSame()
    },
    BackendCheck(
      .queue, "restored outcomes are listed under their numbers, and new numbers are higher"
    ) {
      fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      let ends: [(UInt64, WriteOutcome)] = [
        (30, .acknowledged), (4, .superseded(by: WriteID(rawValue: 30))), (12, .discarded),
      ]
      for (number, outcome) in ends {
        let end = FinishedWrite(id: WriteID(rawValue: number), outcome: outcome, path: "a/b")
        try await pair.commit(.restoreFinished(lane, end))
        try await pair.commit(.restoreFinished(lane, end))
      }
      try await pair.reopen()
      try pair.requireSame()
      let (first, rest) = try pair.backend.read { (view) throws(StoreError) in
        let first = try view.finishedWrites(lane, after: nil, limit: 2)
        return (first, try view.finishedWrites(lane, after: first.last?.id, limit: 9))
      }
      try requireEqual(
        (first + rest).map(\.id.rawValue), [4, 12, 30], "the numbers of the finished writes")
      try requireEqual(first.map(\.outcome), [ends[1].1, ends[2].1], "the first two ends")
      let next = try await pair.commit(.enqueue(lane, .set("w", 1))).writes
      try requireEqual(next, [WriteID(rawValue: 31)], "the number after a finished 30")
      try await pair.refuse(
        "the end of a write that waits",
        .restoreFinished(
          lane,
          FinishedWrite(id: WriteID(rawValue: 31), outcome: .acknowledged, path: .root)))
      let other = Lane(tree: pair.tree, identity: "ben")
      try await pair.commit(
        .reserveWriteIDs(other, through: WriteID(rawValue: 77)),
        .reserveWriteIDs(other, through: WriteID(rawValue: 5)))
      try await pair.reopen()
      try pair.requireSame()
      let reserved = try await pair.commit(.enqueue(other, .set("w", 1))).writes
      try requireEqual(reserved, [WriteID(rawValue: 78)], "the number after a reserved 77")
    },
    BackendCheck(.store, "metadata names are listed, and reports of damage are copied") { fixture in
      let pair = try await fixture.pair()
      let names = ["b", "a", "\u{E9}", "e\u{301}", "a/long name with spaces", "z"]
      for name in names {
        try await pair.commit(.setMetadata(pair.tree, name, Array(name.utf8)))
      }
      try await pair.commit(.setMetadata(pair.tree, "z", nil))
      let report = Incident(
        kind: .writeSetAside, tree: pair.tree, place: "write 7 of \"ann\"", bytes: [1, 2, 3])
      try await pair.commit(.report(report))
      try await pair.reopen()
      let (found, incidents) = try pair.backend.read { (view) throws(StoreError) in
        var found: [String] = []
        while true {
          let some = try view.metadataNames(pair.tree, after: found.last, limit: 2)
          found += some
          if some.count < 2 { break }
        }
        let window = try view.incidents(after: IncidentPosition(), limit: 1) { _ in true }
        return (found, window.incidents + (try view.incidents(after: window.end)))
      }
      let expected = try ModelView(pair.model).metadataNames(pair.tree, after: nil, limit: 99)
      try requireEqual(found.map { Array($0.utf8) }, expected.map { Array($0.utf8) }, "the names")
      try requireEqual(incidents, [report], "the reports of damage")
    },
  ]
}

extension ModelPair {
  /// The highest query number of the first tree.
  fileprivate func lastQuery() throws -> QueryID? {
    try backend.read { (view) throws(StoreError) in try view.lastQuery(tree) }
  }
}
