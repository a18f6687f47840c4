internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// The outbound queue: order, numbers, contents, lanes.
  static let queue: [BackendCheck] = [
    BackendCheck(.queue, "writes come in the order in which they were queued", .reordered) {
      fixture in
      let pair = try await fixture.pair()
      for index in 0..<30 {
        try await pair.commit(
          (0..<(index % 4)).map {
            .enqueue(pair.lane, .set(Path("item/\($0)"), Node(.integer(Int64(index))), time: 5))
          })
      }
      try pair.requireSame()
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
    BackendCheck(.queue, "numbers never repeat, also after emptying and reopening", .reusedID) {
      fixture in
      let pair = try await fixture.pair()
      var seen: Set<WriteID> = []
      for round in 0..<6 {
        let edits = (0..<3).map { _ in StorageEdit.enqueue(pair.lane, .set("a", 1)) }
        let receipt = try await pair.commit(edits)
        for id in receipt.writes {
          try require(seen.insert(id).inserted, "the number \(id.rawValue) was given twice")
        }
        if round % 3 == 2 {
          try await pair.commit(.purge(pair.lane))
        } else {
          try await pair.commit(receipt.writes.map { .finish(pair.lane, $0, .acknowledged) })
        }
        if round % 2 == 0 { try await pair.reopen() }
        _ = try await pair.backend.tidy(.milliseconds(20))
        try pair.requireSame("in round \(round)")
      }
    },
    BackendCheck(.queue, "a write keeps its kind, paths, preconditions, ids and time", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
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
      try await pair.commit(contents.map { .enqueue(pair.lane, $0) })
      try pair.requireSame()
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
    BackendCheck(.queue, "payloads of megabytes are kept and given back", .wrongData) { fixture in
      let pair = try await fixture.pair()
      for size in [70_000, 300_000, 1_000_000, 10 * 1024 * 1024] {
        try await pair.commit(
          .enqueue(pair.lane, .set("big", .text(size))), .enqueue(pair.lane, .set("small", 1)))
      }
      try await pair.reopen()
      try pair.requireSame()
      try require(
        try pair.totals(pair.lane).bytes > 0, "totals.bytes is not positive with eight writes")
      try await pair.commit(.finish(pair.lane, WriteID(rawValue: 7), .discarded))
      try await pair.commit(
        .replace(pair.lane, WriteID(rawValue: 1), .set("big", .text(400_000))),
        .setState(pair.lane, WriteID(rawValue: 3), .sent))
      try pair.requireSame("after replacing")
      try await pair.commit(
        [1, 2, 3, 4, 5, 6, 8].map { .finish(pair.lane, WriteID(rawValue: $0), .discarded) })
      try pair.requireSame("after finishing")
      let left = try pair.usage(pair.tree).queue
      try require(left < 2048, "an empty queue takes \(left) bytes after large writes")
    },
    BackendCheck(.queue, "lanes are kept apart, also of identities that look alike", .phantom) {
      fixture in
      let pair = try await fixture.pair()
      let identities = [
        "", "a", "ab", "a\u{1}", "b", "\u{E9}", "e\u{301}", "a/b", "\u{1F600}",
        String(repeating: "i", count: 256), String(repeating: "i", count: 255),
      ]
      let lanes = identities.map { Lane(tree: pair.tree, identity: $0) }
      for (index, lane) in lanes.enumerated() {
        for number in 0...index {
          try await pair.commit(
            .enqueue(lane, .set("p", Node(.string("\(lane.identity) \(number)")))))
        }
      }
      try await pair.commit(.enqueue(Lane(tree: pair.other, identity: "a"), .set("q", 1)))
      try pair.requireSame()
      try await pair.commit(.purge(lanes[1]), .setState(lanes[2], WriteID(rawValue: 1), .sent))
      try await pair.commit(.finish(lanes[5], WriteID(rawValue: 2), .acknowledged))
      try await pair.reopen()
      try pair.requireSame("after a purge")
    },
    BackendCheck(.queue, "an identity of 257 bytes or with a zero is refused", .wrongError) {
      fixture in
      let pair = try await fixture.pair()
      for identity in [String(repeating: "i", count: 257), "a\u{0}b"] {
        let lane = Lane(tree: pair.tree, identity: identity)
        try await pair.refuse("the identity", .enqueue(lane, .set("a", 1)))
      }
    },
    BackendCheck(.queue, "acknowledging and its tree edits are one commit", .halfBatch) { fixture in
      let pair = try await fixture.pair()
      let id = try await pair.commit(.enqueue(pair.lane, .set("a", 5))).writes[0]
      try await pair.commit(.setState(pair.lane, id, .sent))
      try await pair.commit(
        .finish(pair.lane, id, .acknowledged), .overwrite(pair.tree, "a", 5),
        .saveQuery(TrackedQuery(tree: pair.tree, path: "a", isComplete: true)))
      try pair.requireSame()
      let again = try await pair.commit(.enqueue(pair.lane, .set("a", 6))).writes[0]
      try await pair.refuse(
        "an acknowledgement with a bad edit", .finish(pair.lane, again, .acknowledged),
        .overwrite(pair.tree, "a", 6), .setTrackedKeys(pair.tree, QueryID(rawValue: 99), ["x"]))
      try pair.requireNode("a", is: 5)
    },
    BackendCheck(.queue, "writes restored out of order come back in numeric order", .reordered) {
      fixture in
      let pair = try await fixture.pair()
      for number in (1...20).reversed() {
        try await pair.commit(
          .restore(
            pair.lane,
            QueuedWrite(
              id: WriteID(rawValue: UInt64(number)),
              content: .set("w", Node(.integer(Int64(number)))),
              state: number % 5 == 0 ? .sent : .queued,
              attempts: UInt32(number % 3))))
      }
      try pair.requireSame()
      try await pair.commit(
        .restore(
          pair.lane,
          QueuedWrite(
            id: WriteID(rawValue: 300), content: .set("w", 1), state: .rejected(reason: "no"),
            attempts: 9)))
      try await pair.reopen()
      let next = try await pair.commit(.enqueue(pair.lane, .set("w", 2))).writes
      try requireEqual(next, [WriteID(rawValue: 301)], "the number after a restored 300")
      try await pair.commit(
        .restore(
          pair.lane, QueuedWrite(id: WriteID(rawValue: 7), content: .set("other", 7), attempts: 2)))
      try pair.requireSame("after replacing a write by a restored one")
    },
    BackendCheck(.queue, "a purge takes all writes of its lane, rejected ones too", .resurrected) {
      fixture in
      let pair = try await fixture.pair()
      let ada = Lane(tree: pair.tree, identity: "ada")
      for lane in [pair.lane, ada] {
        try await pair.commit(
          (0..<40).map { .enqueue(lane, .set(Path("x/\($0)"), .text($0 * 40))) })
        try await pair.commit(
          .setState(lane, WriteID(rawValue: 2), .sent),
          .setState(lane, WriteID(rawValue: 3), .sent),
          .setState(lane, WriteID(rawValue: 3), .rejected(reason: "denied")))
      }
      try await pair.commit(.purge(ada))
      try pair.requireSame()
      try await pair.commit(.purge(ada), .enqueue(ada, .set("y", 1)))
      try await pair.reopen()
      try pair.requireSame("after queueing again")
    },
  ]
}

extension ModelPair {
  /// What a lane holds.
  func totals(_ lane: Lane) throws -> QueueTotals {
    try backend.read { (view) throws(StoreError) in try view.totals(lane) }
  }
}
