internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// What a faithful copy of a store needs: numbers, ends and reports of another one.
  static let restore: [BackendCheck] = [
    BackendCheck(.queries, "queries restored under their numbers keep them, and none repeats") {
      bench in
      let twin = try await bench.twin()
      func stored(_ number: UInt64, _ path: Path, complete: Bool = true) -> StoredQuery {
        StoredQuery(
          id: QueryID(rawValue: number),
          query: TrackedQuery(
            tree: twin.tree, path: path, isComplete: complete, lastUse: number,
            resumeToken: [UInt8(number)]))
      }
      for number in [9, 2, 5] as [UInt64] {
        try await twin.commit(.restoreQuery(stored(number, Path("q/\(number)"))))
      }
      try await twin.commit(.restoreQuery(stored(5, "q/5", complete: false)))
      try twin.same()
      try await twin.refuse("a number that is another query's", .restoreQuery(stored(2, "other")))
      try await twin.refuse("a query that has another number", .restoreQuery(stored(7, "q/9")))
      try await twin.commit(.setTrackedKeys(twin.tree, QueryID(rawValue: 9), ["a", "b"]))
      try await twin.commit(.reserveQueries(twin.tree, QueryID(rawValue: 40)))
      try await twin.commit(.reserveQueries(twin.tree, QueryID(rawValue: 3)))
      try await twin.reopen()
      try requireEqual(try twin.lastQuery(), QueryID(rawValue: 40), "the last query's number")
      let next = try await twin.commit(.saveQuery(TrackedQuery(tree: twin.tree, path: "new")))
      try requireEqual(next.queries, [QueryID(rawValue: 41)], "the number after a reserved 40")
      try twin.same()
    },
    BackendCheck(.queue, "lanes of which nothing is left begin above the floor") { bench in
      let twin = try await bench.twin()
      let lost = Lane(tree: twin.other, identity: "lost")
      try await twin.commit(.enqueue(twin.lane, .set("a", 1)))
      try await twin.commit(.raiseQueueFloor(WriteID(rawValue: 1000)))
      try await twin.commit(.raiseQueueFloor(WriteID(rawValue: 7)))
      try await twin.reopen()
      let floor = try twin.backend.read { (view) throws(StoreError) in try view.queueFloor() }
      try requireEqual(floor, WriteID(rawValue: 1000), "the floor")
      let writes = try await twin.commit(
        .enqueue(lost, .set("b", 1)), .enqueue(twin.lane, .set("a", 2))
      ).writes
      try requireEqual(writes.map(\.rawValue), [1001, 2], "the numbers of new writes")
      try twin.same()
    },
    BackendCheck(.queue, "ends restored under their numbers are listed, and numbers go on above") {
      bench in
      let twin = try await bench.twin()
      let lane = twin.lane
      let ends: [(UInt64, WriteOutcome)] = [
        (30, .acknowledged), (4, .superseded(by: WriteID(rawValue: 30))), (12, .discarded),
      ]
      for (number, outcome) in ends {
        let end = FinishedWrite(id: WriteID(rawValue: number), outcome: outcome, path: "a/b")
        try await twin.commit(.restoreFinished(lane, end))
        try await twin.commit(.restoreFinished(lane, end))
      }
      try await twin.reopen()
      try twin.same()
      let (first, rest) = try twin.backend.read { (view) throws(StoreError) in
        let first = try view.finishedWrites(lane, after: nil, limit: 2)
        return (first, try view.finishedWrites(lane, after: first.last?.id, limit: 9))
      }
      try requireEqual(
        (first + rest).map(\.id.rawValue), [4, 12, 30], "the numbers of the finished writes")
      try requireEqual(first.map(\.outcome), [ends[1].1, ends[2].1], "the first two ends")
      let next = try await twin.commit(.enqueue(lane, .set("w", 1))).writes
      try requireEqual(next, [WriteID(rawValue: 31)], "the number after a finished 30")
      try await twin.refuse(
        "the end of a write that waits",
        .restoreFinished(
          lane,
          FinishedWrite(id: WriteID(rawValue: 31), outcome: .acknowledged, path: .root)))
      let other = Lane(tree: twin.tree, identity: "ben")
      try await twin.commit(
        .reserve(other, WriteID(rawValue: 77)), .reserve(other, WriteID(rawValue: 5)))
      try await twin.reopen()
      try twin.same()
      let reserved = try await twin.commit(.enqueue(other, .set("w", 1))).writes
      try requireEqual(reserved, [WriteID(rawValue: 78)], "the number after a reserved 77")
    },
    BackendCheck(.store, "names of metadata are listed, and reports of damage come over") { bench in
      let twin = try await bench.twin()
      let names = ["b", "a", "\u{E9}", "e\u{301}", "a/long name with spaces", "z"]
      for name in names {
        try await twin.commit(.setMetadata(twin.tree, name, Array(name.utf8)))
      }
      try await twin.commit(.setMetadata(twin.tree, "z", nil))
      let report = Incident(
        kind: .writeSetAside, tree: twin.tree, place: "write 7 of \"ann\"", bytes: [1, 2, 3])
      try await twin.commit(.report(report))
      try await twin.reopen()
      let (found, incidents) = try twin.backend.read { (view) throws(StoreError) in
        var found: [String] = []
        while true {
          let some = try view.metadataNames(twin.tree, after: found.last, limit: 2)
          found += some
          if some.count < 2 { break }
        }
        return (found, try view.incidents())
      }
      let expected = try ModelView(twin.model).metadataNames(twin.tree, after: nil, limit: 99)
      try requireEqual(found.map { Array($0.utf8) }, expected.map { Array($0.utf8) }, "the names")
      try requireEqual(incidents, [report], "the reports of damage")
    },
  ]
}

extension Twin {
  /// The last number that a query of the first tree was given.
  fileprivate func lastQuery() throws -> QueryID? {
    try backend.read { (view) throws(StoreError) in try view.lastQuery(tree) }
  }
}
