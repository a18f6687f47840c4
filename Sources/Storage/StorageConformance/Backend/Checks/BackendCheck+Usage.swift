internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// The size of records, known without a scan.
  static let usage: [BackendCheck] = [
    BackendCheck(
      .usage, "a store that was emptied takes nothing but what it must remember", .usageDrift
    ) {
      fixture in
      let pair = try await fixture.pair()
      let (tree, lane) = (pair.tree, pair.lane)
      let empty = try pair.usage(nil)
      var random = SeededRandom(seed: 17)
      for _ in 0..<3 { try await pair.set("data", random.node(depth: 3, width: 14)) }
      try await pair.set("big", ["a": .text(300_000), "b": .text(70_000)])
      let ids = try await pair.commit(
        (0..<20).map { .enqueue(lane, .set(Path("w/\($0)"), .text($0 * 100))) }
      ).writes
      let query = try await pair.commit(
        .saveQuery(TrackedQuery(tree: tree, path: "data", parameters: "{\"l\":1}"))
      ).queries[0]
      try await pair.commit(.setTrackedKeys(tree, query, ["a", "b"]))
      try await pair.commit(.pin(Pin(tree: tree, path: "data")), .setMetadata(tree, "m", [1, 2]))
      let full = try pair.usage(nil)
      for (name, part) in [
        ("leafBytes", full.leafBytes), ("queue", full.queue), ("pins", full.pins),
        ("leaves", full.leaves),
        ("trackedQueries", full.trackedQueries), ("rawLeafBytes", full.rawLeafBytes),
      ] {
        try require(part > 0, "usage.\(name) is \(part) with such records")
      }
      try requireEqual(try pair.usage(tree).leaves, full.leaves, "usage.leaves of the tree")
      try await pair.commit(ids.map { .finish(lane, $0, .acknowledged) })
      try await pair.commit(
        .overwrite(tree, .root, .empty), .removeQuery(tree, query),
        .unpin(Pin(tree: tree, path: "data")), .setMetadata(tree, "m", nil))
      let left = try pair.usage(nil)
      try requireEqual(left.leafBytes, 0, "usage.leafBytes of an empty store")
      try requireEqual(left.rawLeafBytes, 0, "usage.rawLeafBytes of an empty store")
      try requireEqual(left.leaves, 0, "usage.leaves of an empty store")
      try requireEqual(left.pins, 0, "usage.pins of an empty store")
      try requireEqual(left.indexes, empty.indexes, "usage.indexes of an empty store")
      try require(left.queue < 2048, "usage.queue of an empty queue is \(left.queue)")
      try require(
        left.trackedQueries <= empty.trackedQueries + 64,
        "usage.trackedQueries without a query is \(left.trackedQueries)")
      try pair.requireSame()
    },
    BackendCheck(.usage, "usage counts leaves and priorities after every kind of edit", .usageDrift)
    { fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 23)
      for round in 0..<25 {
        let path = random.path(3)
        try await pair.set(path, random.chance(25) ? .empty : random.node(depth: 3, width: 6))
        if round % 5 == 4 {
          try await pair.commit(.prune(pair.tree, PruneForest([random.path(2): .prune])))
        }
        let usage = try pair.usage(pair.tree)
        let leaves = try pair.model.tree(pair.tree).root.countOfRecords
        try requireEqual(usage.leaves, leaves, "usage.leaves in round \(round)")
        try require(
          (usage.leafBytes == 0) == (leaves == 0), "\(usage.leafBytes) bytes, \(leaves) leaves")
      }
    },
    BackendCheck(.usage, "equal histories take the same", .usageDrift) { fixture in
      var found: [(StorageUsage, [QueueTotals])] = []
      for _ in 0..<2 {
        let inner = try BackendFixture(fixture.factory)
        let pair = try await inner.pair()
        var random = SeededRandom(seed: 29)
        for _ in 0..<20 {
          try await pair.commit(
            .overwrite(pair.tree, random.path(3), random.node(depth: 3, width: 8)),
            .enqueue(pair.lane, .set(random.path(3), random.node(depth: 2, width: 3))))
        }
        found.append((try pair.usage(nil), [try pair.totals(pair.lane)]))
        await inner.finish()
      }
      try requireEqual(found[1].0, found[0].0, "the usage of the second of two equal histories")
      try requireEqual(found[1].1, found[0].1, "the totals of the second of two equal histories")
    },
    BackendCheck(.usage, "the whole is the sum of the trees, and fits the file", .usageDrift) {
      fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 37)
      for id in pair.trees {
        try await pair.commit(
          .overwrite(id, .root, random.node(depth: 4, width: 9)),
          .overwrite(id, "big", .text(100_000)), .pin(Pin(tree: id, path: "p")),
          .enqueue(Lane(tree: id), .set("a", .text(5000))))
      }
      let (all, one, two) = (
        try pair.usage(nil), try pair.usage(pair.tree), try pair.usage(pair.other)
      )
      for (name, part) in [
        ("leafBytes", \StorageUsage.leafBytes), ("queue", \.queue), ("pins", \.pins),
        ("leaves", \.leaves), ("rawLeafBytes", \.rawLeafBytes),
      ] {
        let sum = one[keyPath: part] + two[keyPath: part]
        try requireEqual(all[keyPath: part], sum, "usage.\(name) of the store")
      }
      let size = try pair.backend.size()
      if fixture.factory.declared.isPersistent {
        try require(
          all.total <= size.file, "\(all.total) bytes in records, \(size.file) in files")
      }
    },
    BackendCheck(.usage, "usage is the same after reopening", .usageDrift) { fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 41)
      for _ in 0..<10 {
        try await pair.commit(
          .overwrite(pair.tree, random.path(2), random.node(depth: 3, width: 8)),
          .enqueue(pair.lane, .set("a", random.node(depth: 2, width: 3))))
      }
      let before = (try pair.usage(nil), try pair.totals(pair.lane))
      try await pair.reopen()
      try requireEqual(try pair.usage(nil), before.0, "the usage after reopening")
      try requireEqual(try pair.totals(pair.lane), before.1, "the totals after reopening")
    },
    BackendCheck(.usage, "housekeeping changes no data", .wrongData) { fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 43)
      for round in 0..<12 {
        try await pair.set(random.path(2), random.node(depth: 3, width: 12))
        for _ in 0..<8 { try await pair.set(random.path(4), random.leaf()) }
        if round % 3 == 2 {
          var rounds = 0
          while try await pair.backend.tidy(.milliseconds(50)), rounds < 50 { rounds += 1 }
          try pair.requireSame("after housekeeping in round \(round)")
        }
      }
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
  ]

  /// Compressed records.
  static let compression: [BackendCheck] = [
    BackendCheck(.usage, "a chat takes at most two fifths of its size", .usageDrift) { fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      try await pair.set("rooms", Chat.rooms(20, messages: 100))
      while try await pair.backend.tidy(.seconds(1)) {}
      let usage = try pair.usage(pair.tree)
      let ratio = Double(usage.rawLeafBytes) / Double(max(1, usage.leafBytes))
      try require(
        ratio >= 2.5, "\(usage.rawLeafBytes) bytes take \(usage.leafBytes): a ratio of \(ratio)")
    },
    BackendCheck(
      .usage, "data stored with compression is read without it, and the reverse", .wrongData
    ) {
      fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      let rooms = Chat.rooms(4, messages: 60)
      try await pair.set("rooms", rooms)
      try await pair.commit(.enqueue(pair.lane, .set("w", .text(20_000))))
      for compression: Compression in [.none, fixture.factory.options.compression, .none] {
        try await pair.reopen { $0.compression = compression }
        try pair.requireSame("read with compression \(compression)")
        try await pair.set("rooms/room1/messages/m7/text", Node(.string("\(compression)")))
        try await pair.set(Path("more/\(compression)"), rooms[Key("room2")])
        try await pair.commit(.enqueue(pair.lane, .set("w", .text(30_000))))
        try pair.requireSame("written with compression \(compression)")
      }
    },
    BackendCheck(.usage, "compression changes no snapshot", .wrongData) { fixture in
      let rooms = Chat.rooms(5, messages: 80)
      for compression: Compression in [.none, .zstd(level: 1), .zstd(level: 9)] {
        let inner = try BackendFixture(fixture.factory)
        let pair = try await inner.pair { $0.compression = compression }
        try await pair.set("rooms", rooms)
        try await pair.set("rooms/room3", .empty)
        try pair.requireSame("with compression \(compression)")
        await inner.finish()
      }
    },
  ]
}

/// A generated chat: rooms of messages with authors, times and texts.
enum Chat {
  static func rooms(_ count: Int, messages: Int) -> Node {
    var random = SeededRandom(seed: 1)
    let words = [
      "the", "meeting", "starts", "when", "everyone", "is", "here", "please", "bring", "notes",
      "about", "release", "tomorrow", "morning", "coffee", "ready", "thanks", "see", "you", "later",
      "storage", "engine", "test", "passes", "again", "maybe", "lunch", "great", "idea", "ship",
    ]
    var time: Int64 = 1_700_000_000_000
    return Node(
      children: (0..<count).map { room in
        let list = Node(
          children: (0..<messages).map { index -> (Key, Node) in
            time += Int64.random(in: 500...90_000, using: &random)
            let text = (0..<Int.random(in: 3...18, using: &random))
              .map { _ in random.pick(words) }.joined(separator: " ")
            let message: Node = [
              "author": .init(.string("user\(Int.random(in: 0..<12, using: &random))")),
              "text": .init(.string(text)), "ts": .init(.integer(time)), "read": true,
            ]
            return (Key("m\(index)"), message)
          })
        return (Key("room\(room)"), ["title": .init(.string("Room \(room)")), "messages": list])
      })
  }
}
