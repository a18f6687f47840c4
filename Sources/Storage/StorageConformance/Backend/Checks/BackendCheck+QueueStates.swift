internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// The states and outcomes of writes.
  static let queueStates: [BackendCheck] = [
    BackendCheck(.queue, "states follow each other and count attempts", .lostAcknowledged) {
      fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      let id = try await pair.commit(.enqueue(lane, .set("a", 1))).writes[0]
      let way: [WriteState] = [
        .sent, .outcomeUnknown, .queued, .sent, .queued, .sent, .rejected(reason: "permission"),
        .queued, .sent, .outcomeUnknown, .rejected(reason: "caf\u{E9} \u{0} \u{1F600}"),
      ]
      for (index, state) in way.enumerated() {
        try await pair.commit(.setState(lane, id, state))
        if index % 3 == 0 { try await pair.reopen() }
        try pair.requireSame("in state \(state)")
      }
      let write = try pair.backend.read { (view) throws(StoreError) in try view.write(lane, id) }
      try requireEqual(write?.attempts, 4, "the number of attempts")
    },
    BackendCheck(.queue, "invalid changes of state are refused", .wrongError) { fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      let id = try await pair.commit(.enqueue(lane, .set("a", 1))).writes[0]
      try await pair.commit(
        .setState(lane, id, .sent), .setState(lane, id, .rejected(reason: "no")))
      try await pair.refuse("sent after rejected", .setState(lane, id, .sent))
      try await pair.refuse("unknown after rejected", .setState(lane, id, .outcomeUnknown))
      try await pair.refuse("another reason", .setState(lane, id, .rejected(reason: "other")))
      try await pair.commit(.finish(lane, id, .discarded))
      try await pair.refuse("sent after finished", .setState(lane, id, .sent))
      try await pair.refuse("finishing twice", .finish(lane, id, .acknowledged))
      try await pair.refuse("replacing a finished write", .replace(lane, id, .set("a", 2)))
      let nobody = WriteID(rawValue: 1000)
      try await pair.refuse("finishing an unknown write", .finish(lane, nobody, .acknowledged))
      try await pair.refuse("sending an unknown write", .setState(lane, nobody, .sent))
    },
    BackendCheck(
      .queue, "a rejected write stays until it is retried or discarded", .lostAcknowledged
    ) { fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      try await pair.commit((0..<5).map { .enqueue(lane, .set(Path("a/\($0)"), 1)) })
      for number: UInt64 in [1, 2, 4] {
        let id = WriteID(rawValue: number)
        try await pair.commit(
          .setState(lane, id, .sent), .setState(lane, id, .rejected(reason: "reason \(number)")))
      }
      try pair.requireSame("after rejecting")
      try await pair.reopen()
      try pair.requireSame("after reopening")
      try await pair.commit(.setState(lane, WriteID(rawValue: 1), .queued))
      try await pair.commit(.replace(lane, WriteID(rawValue: 2), .set("b", ["new": true])))
      try await pair.commit(.finish(lane, WriteID(rawValue: 4), .discarded))
      try pair.requireSame("after retrying, editing and discarding")
      try requireEqual(
        try pair.totals(lane).oldest, WriteID(rawValue: 1), "the oldest write after a retry")
    },
    BackendCheck(
      .queue, "replacing a write changes what it touches and queues it", .lostAcknowledged
    ) { fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      let update = WriteContent(
        kind: .update, path: "a", changes: [.init("a/x", 1), .init("a/y", 2)])
      try await pair.commit(.enqueue(lane, update), .enqueue(lane, .set("a/x", 3)))
      try await pair.commit(.replace(lane, WriteID(rawValue: 1), .set("z", .text(2000))))
      let found = try pair.backend.read { (view) throws(StoreError) in
        [
          try view.pendingWrites(lane, touching: "a"), try view.pendingWrites(lane, touching: "z"),
          try view.pendingWrites(lane, touching: "a/y"),
        ]
      }
      try requireEqual(
        found, [[WriteID(rawValue: 2)], [WriteID(rawValue: 1)], []], "the lists of touching writes")
      try pair.requireSame()
    },
    BackendCheck(.queue, "a finished write is remembered with its outcome", .lostAcknowledged) {
      fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      try await pair.commit((0..<4).map { .enqueue(lane, .set(Path("a/\($0)"), 1)) })
      try await pair.commit(
        .finish(lane, WriteID(rawValue: 1), .superseded(by: WriteID(rawValue: 2))),
        .setState(lane, WriteID(rawValue: 2), .sent),
        .finish(lane, WriteID(rawValue: 2), .acknowledged),
        .finish(lane, WriteID(rawValue: 3), .discarded))
      try pair.requireSame()
      try await pair.reopen()
      let ends = try pair.backend.read { (view) throws(StoreError) in
        var ends: [FinishedWrite?] = []
        for number: UInt64 in 1...5 {
          ends.append(try view.finishedWrite(lane, WriteID(rawValue: number)))
        }
        return ends
      }
      let expected: [(WriteOutcome, Path)?] = [
        (.superseded(by: WriteID(rawValue: 2)), "a/0"), (.acknowledged, "a/1"),
        (.discarded, "a/2"), nil, nil,
      ]
      for (index, (end, expected)) in zip(ends, expected).enumerated() {
        try requireEqual(end?.outcome, expected?.0, "the end of write \(index + 1)")
        try requireEqual(end?.path, expected?.1, "the remembered path of write \(index + 1)")
      }
    },
    BackendCheck(.queue, "10,000 finished writes do not grow the queue without bound", .usageDrift)
    { fixture in
      let pair = try await fixture.pair { $0.durability = .relaxed }
      let (backend, lane) = (pair.backend, pair.lane)
      var most = 0
      var number: UInt64 = 0
      for round in 0..<20 {
        var edits: [StorageEdit] = []
        for _ in 0..<500 {
          number += 1
          edits.append(.enqueue(lane, .set(Path("rooms/one/messages/\(number)"), "text")))
          edits.append(.finish(lane, WriteID(rawValue: number), .acknowledged))
        }
        try await backend.commit(edits)
        let bytes = try pair.usage(pair.tree).queue
        if round < 5 { most = max(most, bytes) }
        try require(
          bytes <= 2 * most + 4096 && bytes < 512 * 1024,
          "an empty queue takes \(bytes) bytes after \(number) writes")
      }
      let (newest, remembered) = (WriteID(rawValue: number), number)
      let found = try backend.read { (view) throws(StoreError) in
        (try view.totals(lane), try view.finishedWrite(lane, newest))
      }
      try requireEqual(found.0, QueueTotals(newest: newest), "the totals of an emptied lane")
      try require(found.1 != nil, "the end of write \(remembered) is forgotten at once")
    },
  ]
}
