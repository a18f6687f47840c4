internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Reading a queue in windows and by path.
  static let queueWindows: [BackendCheck] = [
    BackendCheck(.queue, "housekeeping keeps every write that is not finished", .lostAcknowledged) {
      fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      let lanes = [pair.lane, Lane(tree: pair.tree, identity: "ann"), Lane(tree: pair.other)]
      for round in 0..<6 {
        for lane in lanes {
          let ids = try await pair.commit(
            (0..<20).map { .enqueue(lane, .set(Path("w/\($0)"), .text($0 * 90 + round))) }
          ).writes
          // Most writes are finished, so that there is something to compact.
          try await pair.commit(ids.dropFirst(3).map { .finish(lane, $0, .acknowledged) })
          try await pair.commit(.setState(lane, ids[2], .sent))
          try await pair.commit(.setState(lane, ids[2], .rejected(reason: "r\(round)")))
        }
        try await pair.set("data", Node(children: (0..<400).map { (Key($0), .text($0 % 60)) }))
        try await pair.set("data", .empty)
        var slices = 0
        while try await pair.backend.tidy(.milliseconds(50)), slices < 50 { slices += 1 }
        try pair.requireSame("after housekeeping in round \(round)")
      }
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
    BackendCheck(.queue, "windows of a queue of 2,000 writes are complete", .lostAcknowledged) {
      fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      try await pair.commit(
        (1...2000).map { .enqueue(lane, .set(Path("a/\($0 % 50)"), Node(.integer(Int64($0))))) })
      try await pair.commit(
        stride(from: 3, through: 2000, by: 7).flatMap { number -> [StorageEdit] in
          let id = WriteID(rawValue: UInt64(number))
          return [
            .setState(lane, id, .sent),
            number % 2 == 0
              ? .setState(lane, id, .rejected(reason: "r")) : .finish(lane, id, .acknowledged),
          ]
        })
      let model = ModelView(pair.model)
      for (after, limit) in [(0, 1), (0, 3000), (1, 64), (1990, 64), (2000, 5), (17, 0), (5, 1)] {
        let start = after == 0 ? nil : WriteID(rawValue: UInt64(after))
        let found = try pair.backend.read { (view) throws(StoreError) in
          [
            try view.writes(lane, after: start, limit: limit),
            try view.rejectedWrites(lane, after: start, limit: limit),
          ]
        }
        let expected = [
          try model.writes(lane, after: start, limit: limit),
          try model.rejectedWrites(lane, after: start, limit: limit),
        ]
        try require(
          found == expected,
          "the windows of \(limit) after \(after) are \(found.map { $0.map(\.id.rawValue) }), "
            + "not \(expected.map { $0.map(\.id.rawValue) })")
      }
      try requireEqual(
        try pair.totals(lane).with(bytes: 0), try model.totals(lane).with(bytes: 0), "the totals")
    },
    BackendCheck(.queue, "totals always equal a recount", .usageDrift) { fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      var random = SeededRandom(seed: 31)
      for step in 0..<60 {
        var edits: [StorageEdit] = [.enqueue(lane, .set(Path("n/\(step % 9)"), .text(step * 17)))]
        let writes = try pair.model.lane(lane).writes
        if let write = writes.randomElement(using: &random), random.chance(70) {
          switch write.state {
          case .queued: edits.append(.setState(lane, write.id, .sent))
          case .sent where random.chance(50):
            edits.append(.setState(lane, write.id, .rejected(reason: "x")))
          default: edits.append(.finish(lane, write.id, .discarded))
          }
        }
        try await pair.commit(edits)
        try pair.requireSame("in step \(step)")
      }
      try await pair.commit(
        try pair.model.lane(lane).writes.map { .finish(lane, $0.id, .discarded) })
      try requireEqual(
        try pair.totals(lane), QueueTotals(newest: WriteID(rawValue: 60)), "the totals at the end")
    },
    BackendCheck(.queue, "the writes at, above and below a path are found by it", .lostAcknowledged)
    { fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      let long = Path((0..<7).map { Key("\($0)" + String(repeating: "k", count: 98)) })
      let paths: [Path] = [
        "a", "a/b", "a/b/c", "ab", "a/bb", "1", "12", "01", "x/y/z", .root, "a/.priority",
        "a/b/.priority", long, long.appending(Key("1")), long.appending(Key("12")),
        long.parent ?? .root,
        "\u{1F600}/\u{FFFF}", "a/\u{0}", "a/b\u{0}",
      ]
      for path in paths { try await pair.commit(.enqueue(lane, .set(path, 1))) }
      let update = WriteContent(
        kind: .update, path: .root,
        changes: ["a/b/c/d", "q", "x", "a/b"].map { .init($0, 1) } + [.init(long, 2)])
      try await pair.commit(.enqueue(lane, update), .enqueue(lane, update))
      let model = ModelView(pair.model)
      let probes =
        paths + [
          "a/b/c/d/e", "q/r", "nowhere", "x/y", "a/c", "\u{1F600}", long.appending(Path("2/3")),
        ]
      func compare(_ when: String) throws {
        for path in probes {
          let found = try pair.backend.read { (view) throws(StoreError) in
            try view.pendingWrites(lane, touching: path)
          }
          try requireEqual(
            found, try model.pendingWrites(lane, touching: path),
            "the list of writes that touch \(path) \(when)")
        }
      }
      try compare("at first")
      try await pair.reopen()
      try compare("after reopening")
    },
    BackendCheck(.queue, "finished and rejected writes touch nothing", .resurrected) { fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      try await pair.commit((0..<6).map { _ in .enqueue(lane, .set("a/b", 1)) })
      let ids = (1...6).map { WriteID(rawValue: $0) }
      try await pair.commit(
        .setState(lane, ids[0], .sent), .setState(lane, ids[1], .sent),
        .setState(lane, ids[1], .rejected(reason: "no")),
        .setState(lane, ids[2], .sent), .setState(lane, ids[2], .outcomeUnknown),
        .finish(lane, ids[3], .acknowledged), .finish(lane, ids[4], .discarded))
      let found = try pair.backend.read { (view) throws(StoreError) in
        try view.pendingWrites(lane, touching: "a")
      }
      try requireEqual(found, [ids[0], ids[2], ids[5]], "the list of waiting writes")
      try await pair.commit(.setState(lane, ids[1], .queued))
      try pair.requireSame("after a retry")
    },
  ]
}

extension QueueTotals {
  /// The totals with another number of bytes, which backends count differently.
  func with(bytes: Int) -> QueueTotals {
    var copy = self
    copy.bytes = bytes
    return copy
  }
}
