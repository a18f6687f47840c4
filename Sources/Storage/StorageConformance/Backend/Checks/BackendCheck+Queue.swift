internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// The outbound queue: order, numbers, contents, lanes.
  static let queue: [BackendCheck] = [
    BackendCheck(.queue, "writes come in the order in which they were queued", .reordered) {
      bench in
      let twin = try await bench.twin()
      for index in 0..<30 {
        try await twin.commit(
          (0..<(index % 4)).map {
            .enqueue(twin.lane, .set(Path("item/\($0)"), Node(.integer(Int64(index))), time: 5))
          })
      }
      try twin.same()
      try await twin.reopen()
      try twin.same("after reopening")
    },
    BackendCheck(.queue, "numbers never repeat, also after emptying and reopening", .reusedID) {
      bench in
      let twin = try await bench.twin()
      var seen: Set<WriteID> = []
      for round in 0..<6 {
        let edits = (0..<3).map { _ in StorageEdit.enqueue(twin.lane, .set("a", 1)) }
        let receipt = try await twin.commit(edits)
        for id in receipt.writes {
          try require(seen.insert(id).inserted, "the number \(id.rawValue) was given twice")
        }
        if round % 3 == 2 {
          try await twin.commit(.purge(twin.lane))
        } else {
          try await twin.commit(receipt.writes.map { .finish(twin.lane, $0, .acknowledged) })
        }
        if round % 2 == 0 { try await twin.reopen() }
        _ = try await twin.backend.tidy(.milliseconds(20))
        try twin.same("in round \(round)")
      }
    },
    BackendCheck(.queue, "a write keeps its kind, paths, preconditions, ids and time", .wrongData) {
      bench in
      let twin = try await bench.twin()
      let rich: Node = [
        "leaf": Node("x", priority: "p"), "at": Node(.serverValue(.timestamp)),
        "more": Node(.serverValue(.increment(.double(0.5)))), "int": Node(.integer(.min)),
        "deep": ["a": 1, ".priority": 2],
      ]
      let contents = [
        WriteContent.set("a/b", rich, time: 1_700_000_000_000), .set("gone", .empty),
        .set("a/.priority", "high"), .set(.root, rich, time: -5),
        WriteContent(
          kind: .update, path: "rooms",
          changes: [.init("rooms/one", rich), .init("rooms/two", .empty), .init("rooms/1/2", 3)],
          idempotencyID: Array(0...254)),
        WriteContent(kind: .update, path: "rooms", changes: []),
        WriteContent(
          kind: .transaction, path: "count", changes: [.init("count", 5)],
          preconditions: [.init(path: "count", hash: "abc="), .init(path: .root, hash: "")],
          idempotencyID: [0], time: .max),
      ]
      try await twin.commit(contents.map { .enqueue(twin.lane, $0) })
      try twin.same()
      try await twin.reopen()
      try twin.same("after reopening")
    },
    BackendCheck(.queue, "payloads of megabytes are kept and given back", .wrongData) { bench in
      let twin = try await bench.twin()
      for size in [70_000, 300_000, 1_000_000, 10 * 1024 * 1024] {
        try await twin.commit(
          .enqueue(twin.lane, .set("big", .text(size))), .enqueue(twin.lane, .set("small", 1)))
      }
      try await twin.reopen()
      try twin.same()
      try require(
        try twin.totals(twin.lane).bytes > 0, "totals.bytes is not positive with eight writes")
      try await twin.commit(.finish(twin.lane, WriteID(rawValue: 7), .discarded))
      try await twin.commit(
        .replace(twin.lane, WriteID(rawValue: 1), .set("big", .text(400_000))),
        .setState(twin.lane, WriteID(rawValue: 3), .sent))
      try twin.same("after replacing")
      try await twin.commit(
        [1, 2, 3, 4, 5, 6, 8].map { .finish(twin.lane, WriteID(rawValue: $0), .discarded) })
      try twin.same("after finishing")
      let left = try twin.usage(twin.tree).queue
      try require(left < 2048, "an empty queue takes \(left) bytes after large writes")
    },
    BackendCheck(.queue, "lanes are kept apart, also of identities that look alike", .phantom) {
      bench in
      let twin = try await bench.twin()
      let identities = [
        "", "a", "ab", "a\u{1}", "b", "\u{E9}", "e\u{301}", "a/b", "\u{1F600}",
        String(repeating: "i", count: 256), String(repeating: "i", count: 255),
      ]
      let lanes = identities.map { Lane(tree: twin.tree, identity: $0) }
      for (index, lane) in lanes.enumerated() {
        for number in 0...index {
          try await twin.commit(
            .enqueue(lane, .set("p", Node(.string("\(lane.identity) \(number)")))))
        }
      }
      try await twin.commit(.enqueue(Lane(tree: twin.other, identity: "a"), .set("q", 1)))
      try twin.same()
      try await twin.commit(.purge(lanes[1]), .setState(lanes[2], WriteID(rawValue: 1), .sent))
      try await twin.commit(.finish(lanes[5], WriteID(rawValue: 2), .acknowledged))
      try await twin.reopen()
      try twin.same("after a purge")
    },
    BackendCheck(.queue, "an identity of 257 bytes or with a zero is refused", .wrongError) {
      bench in
      let twin = try await bench.twin()
      for identity in [String(repeating: "i", count: 257), "a\u{0}b"] {
        let lane = Lane(tree: twin.tree, identity: identity)
        try await twin.refuse("the identity", .enqueue(lane, .set("a", 1)))
      }
    },
    BackendCheck(.queue, "acknowledging and its tree edits are one commit", .halfBatch) { bench in
      let twin = try await bench.twin()
      let id = try await twin.commit(.enqueue(twin.lane, .set("a", 5))).writes[0]
      try await twin.commit(.setState(twin.lane, id, .sent))
      try await twin.commit(
        .finish(twin.lane, id, .acknowledged), .overwrite(twin.tree, "a", 5),
        .saveQuery(TrackedQuery(tree: twin.tree, path: "a", isComplete: true)))
      try twin.same()
      let again = try await twin.commit(.enqueue(twin.lane, .set("a", 6))).writes[0]
      try await twin.refuse(
        "an acknowledgement with a bad edit", .finish(twin.lane, again, .acknowledged),
        .overwrite(twin.tree, "a", 6), .setTrackedKeys(twin.tree, QueryID(rawValue: 99), ["x"]))
      try twin.shows("a", is: 5)
    },
    BackendCheck(.queue, "writes restored out of order come back in numeric order", .reordered) {
      bench in
      let twin = try await bench.twin()
      for number in (1...20).reversed() {
        try await twin.commit(
          .restore(
            twin.lane,
            QueuedWrite(
              id: WriteID(rawValue: UInt64(number)),
              content: .set("w", Node(.integer(Int64(number)))),
              state: number % 5 == 0 ? .sent : .queued,
              attempts: UInt32(number % 3))))
      }
      try twin.same()
      try await twin.commit(
        .restore(
          twin.lane,
          QueuedWrite(
            id: WriteID(rawValue: 300), content: .set("w", 1), state: .rejected(reason: "no"),
            attempts: 9)))
      try await twin.reopen()
      let next = try await twin.commit(.enqueue(twin.lane, .set("w", 2))).writes
      try requireEqual(next, [WriteID(rawValue: 301)], "the number after a restored 300")
      try await twin.commit(
        .restore(
          twin.lane, QueuedWrite(id: WriteID(rawValue: 7), content: .set("other", 7), attempts: 2)))
      try twin.same("after replacing a write by a restored one")
    },
    BackendCheck(.queue, "a purge takes all writes of its lane, rejected ones too", .resurrected) {
      bench in
      let twin = try await bench.twin()
      let ada = Lane(tree: twin.tree, identity: "ada")
      for lane in [twin.lane, ada] {
        try await twin.commit(
          (0..<40).map { .enqueue(lane, .set(Path("x/\($0)"), .text($0 * 40))) })
        try await twin.commit(
          .setState(lane, WriteID(rawValue: 2), .sent),
          .setState(lane, WriteID(rawValue: 3), .sent),
          .setState(lane, WriteID(rawValue: 3), .rejected(reason: "denied")))
      }
      try await twin.commit(.purge(ada))
      try twin.same()
      try await twin.commit(.purge(ada), .enqueue(ada, .set("y", 1)))
      try await twin.reopen()
      try twin.same("after queueing again")
    },
  ]
}

extension Twin {
  /// What a lane holds.
  func totals(_ lane: Lane) throws -> QueueTotals {
    try backend.read { (view) throws(StoreError) in try view.totals(lane) }
  }
}
