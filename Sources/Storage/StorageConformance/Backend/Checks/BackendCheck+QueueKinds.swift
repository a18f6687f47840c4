internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Writes of which the queue knows only kind, keys and bytes.
  static let queueKinds: [BackendCheck] = [
    BackendCheck(.queue, "writes of a foreign kind are kept, found by their keys, and finished") {
      fixture in
      let pair = try await fixture.pair()
      let (lane, orders) = (pair.lane, Key("rooms/r1/orders"))
      let small = foreign([orders, "a"], 40)
      // One in parts, and one that compresses in its record.
      let large = foreign([orders, "b"], 600_000)
      let medium = foreign(["c"], 3_000)
      try await pair.commit(
        .enqueue(lane, small), .enqueue(lane, .set("tree", 1)), .enqueue(lane, large),
        .enqueue(lane, medium), .enqueue(lane, foreign([], 0)))
      try pair.requireSame()
      try await pair.reopen()
      try pair.requireSame("after reopening")
      let found = try pair.backend.read { (view) throws(StoreError) in
        try view.pendingWrites(lane, touching: Path([orders]))
      }
      try requireEqual(found.map(\.rawValue), [1, 3], "the writes found by a key")
      let (write, window) = try pair.backend.read { (view) throws(StoreError) in
        (
          try view.write(lane, WriteID(rawValue: 1)),
          try view.writes(lane, after: nil, limit: 1).map(\.id.rawValue)
        )
      }
      try require(write == nil, "a foreign write was read as one to a tree")
      try requireEqual(window, [2], "the first write to a tree behind a foreign one")
      let ids = (0...5).map { WriteID(rawValue: $0) }
      try await pair.commit(
        .setState(lane, ids[3], .sent), .setState(lane, ids[4], .rejected(reason: "no")),
        .replace(lane, ids[1], foreign(["d"], 5_000)))
      try pair.requireSame("after changes of state")
      try await pair.reopen()
      try await pair.commit(
        .finish(lane, ids[3], .acknowledged), .finish(lane, ids[1], .superseded(by: ids[3])))
      try pair.requireSame("after writes were finished")
      try await pair.commit(.purge(lane))
      try await pair.reopen()
      try pair.requireSame("after a purge")
      try pair.isSound()
    },
    BackendCheck(.queue, "writes of a foreign kind are copied into another store as they are") {
      fixture in
      let pair = try await fixture.pair()
      let lane = pair.lane
      for size in [0, 90, 5_000, 400_000] {
        try await pair.commit(.enqueue(lane, foreign([Key("k\(size)"), "all"], size)))
      }
      try await pair.commit(
        .setState(lane, WriteID(rawValue: 2), .sent),
        .setState(lane, WriteID(rawValue: 3), .rejected(reason: "why")))
      let copy = try StorageConfiguration.memory.open()
      try await StoreCopier(source: pair.backend, target: copy, reached: { _ in })
        .run(from: CopyPosition())
      let tree = try await copy.tree(named: "first")
      let (mine, theirs) = (try entries(pair.backend, lane), try entries(copy, Lane(tree: tree)))
      try await copy.close()
      try requireEqual(theirs, mine, "the copied writes")
      try pair.isSound()
    },
    BackendCheck(.queue, "writes that could not be read back are refused") { fixture in
      let pair = try await fixture.pair()
      let tree = WriteContent.set("a/b", 1).payload
      let lies = [
        WritePayload(kind: WritePayload.Kind(rawValue: 0), path: .root, touches: [], bytes: []),
        WritePayload(kind: .tree, path: tree.path, touches: ["c"], bytes: tree.bytes),
        WritePayload(kind: .tree, path: "c", touches: tree.touches, bytes: tree.bytes),
        WritePayload(
          kind: .tree, path: tree.path, touches: tree.touches, bytes: tree.bytes.dropLast()),
        WriteContent(
          kind: .set, path: "a", changes: [.init("a", 1)],
          idempotencyID: Array(repeating: 1, count: 256)
        ).payload,
      ]
      try await pair.commit(.enqueue(pair.lane, tree))
      for lie in lies {
        try await pair.refuse("a payload that lies", .enqueue(pair.lane, lie))
        try await pair.refuse(
          "a payload that lies", .replace(pair.lane, WriteID(rawValue: 1), lie))
        try await pair.refuse(
          "a payload that lies",
          .restore(pair.lane, QueueEntry(id: WriteID(rawValue: 9), payload: lie)))
      }
    },
  ]

  /// A write to documents, whose paths are single keys to the queue.
  private static func foreign(_ keys: [Key], _ size: Int) -> WritePayload {
    WritePayload(
      kind: WritePayload.Kind(rawValue: 200), path: keys.first.map { Path([$0]) } ?? .root,
      touches: keys.map { Path([$0]) }, bytes: value(size, size))
  }

  private static func entries(
    _ backend: any StorageBackend, _ lane: Lane
  ) throws -> [QueueEntry] {
    try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 99)
        + view.rejectedEntries(lane, after: nil, limit: 99)
    }
  }
}
