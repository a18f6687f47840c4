internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Writes of which the queue knows no more than kind, keys and bytes.
  static let queueKinds: [BackendCheck] = [
    BackendCheck(.queue, "writes of a foreign kind are kept, found by their keys, and finished") {
      bench in
      let twin = try await bench.twin()
      let (lane, orders) = (twin.lane, Key("rooms/r1/orders"))
      let small = foreign([orders, "a"], 40)
      // One in parts, and one that compresses in its record.
      let large = foreign([orders, "b"], 600_000)
      let medium = foreign(["c"], 3_000)
      try await twin.commit(
        .enqueue(lane, small), .enqueue(lane, .set("tree", 1)), .enqueue(lane, large),
        .enqueue(lane, medium), .enqueue(lane, foreign([], 0)))
      try twin.same()
      try await twin.reopen()
      try twin.same("after reopening")
      let found = try twin.backend.read { (view) throws(StoreError) in
        try view.pendingWrites(lane, touching: Path([orders]))
      }
      try requireEqual(found.map(\.rawValue), [1, 3], "the writes found by a key")
      let (write, window) = try twin.backend.read { (view) throws(StoreError) in
        (
          try view.write(lane, WriteID(rawValue: 1)),
          try view.writes(lane, after: nil, limit: 1).map(\.id.rawValue)
        )
      }
      try require(write == nil, "a foreign write was read as one to a tree")
      try requireEqual(window, [2], "the first write to a tree behind a foreign one")
      let ids = (0...5).map { WriteID(rawValue: $0) }
      try await twin.commit(
        .setState(lane, ids[3], .sent), .setState(lane, ids[4], .rejected(reason: "no")),
        .replace(lane, ids[1], foreign(["d"], 5_000)))
      try twin.same("after changes of state")
      try await twin.reopen()
      try await twin.commit(
        .finish(lane, ids[3], .acknowledged), .finish(lane, ids[1], .superseded(by: ids[3])))
      try twin.same("after writes were finished")
      try await twin.commit(.purge(lane))
      try await twin.reopen()
      try twin.same("after a purge")
      try twin.isSound()
    },
    BackendCheck(.queue, "writes of a foreign kind are copied into another store as they are") {
      bench in
      let twin = try await bench.twin()
      let lane = twin.lane
      for size in [0, 90, 5_000, 400_000] {
        try await twin.commit(.enqueue(lane, foreign([Key("k\(size)"), "all"], size)))
      }
      try await twin.commit(
        .setState(lane, WriteID(rawValue: 2), .sent),
        .setState(lane, WriteID(rawValue: 3), .rejected(reason: "why")))
      let copy = try StorageConfiguration.memory.open()
      try await StoreCopier(source: twin.backend, target: copy, reached: { _ in })
        .run(from: CopyPlace())
      let tree = try await copy.tree(named: "first")
      let (mine, theirs) = (try entries(twin.backend, lane), try entries(copy, Lane(tree: tree)))
      try await copy.close()
      try requireEqual(theirs, mine, "the copied writes")
      try twin.isSound()
    },
    BackendCheck(.queue, "writes that would not be read again are refused") { bench in
      let twin = try await bench.twin()
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
      try await twin.commit(.enqueue(twin.lane, tree))
      for lie in lies {
        try await twin.refuse("a payload that lies", .enqueue(twin.lane, lie))
        try await twin.refuse(
          "a payload that lies", .replace(twin.lane, WriteID(rawValue: 1), lie))
        try await twin.refuse(
          "a payload that lies",
          .restore(twin.lane, QueueEntry(id: WriteID(rawValue: 9), payload: lie)))
      }
    },
  ]

  /// A write to documents whose paths are keys, as far as the queue is told.
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
