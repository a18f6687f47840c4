internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// What records take, known without a scan.
  static let usage: [BackendCheck] = [
    BackendCheck(
      .usage, "a store that was emptied takes nothing but what it must remember", .usageDrift
    ) {
      bench in
      let twin = try await bench.twin()
      let (tree, lane) = (twin.tree, twin.lane)
      let empty = try twin.usage(nil)
      var random = SeededRandom(seed: 17)
      for _ in 0..<3 { try await twin.set("data", random.node(depth: 3, width: 14)) }
      try await twin.set("big", ["a": .text(300_000), "b": .text(70_000)])
      let ids = try await twin.commit(
        (0..<20).map { .enqueue(lane, .set(Path("w/\($0)"), .text($0 * 100))) }
      ).writes
      let query = try await twin.commit(
        .saveQuery(TrackedQuery(tree: tree, path: "data", parameters: "{\"l\":1}"))
      ).queries[0]
      try await twin.commit(.setTrackedKeys(tree, query, ["a", "b"]))
      try await twin.commit(.pin(Pin(tree: tree, path: "data")), .setMetadata(tree, "m", [1, 2]))
      let full = try twin.usage(nil)
      for (name, part) in [
        ("cache", full.cache), ("queue", full.queue), ("pins", full.pins), ("leaves", full.leaves),
        ("trackedQueries", full.trackedQueries), ("rawCache", full.rawCache),
      ] {
        try require(part > 0, "usage.\(name) is \(part) with such records")
      }
      try requireEqual(try twin.usage(tree).leaves, full.leaves, "usage.leaves of the tree")
      try await twin.commit(ids.map { .finish(lane, $0, .acknowledged) })
      try await twin.commit(
        .overwrite(tree, .root, .empty), .removeQuery(tree, query),
        .unpin(Pin(tree: tree, path: "data")), .setMetadata(tree, "m", nil))
      let left = try twin.usage(nil)
      try requireEqual(left.cache, 0, "usage.cache of an empty store")
      try requireEqual(left.rawCache, 0, "usage.rawCache of an empty store")
      try requireEqual(left.leaves, 0, "usage.leaves of an empty store")
      try requireEqual(left.pins, 0, "usage.pins of an empty store")
      try requireEqual(left.indexes, empty.indexes, "usage.indexes of an empty store")
      try require(left.queue < 2048, "usage.queue of an empty queue is \(left.queue)")
      try require(
        left.trackedQueries <= empty.trackedQueries + 64,
        "usage.trackedQueries without a query is \(left.trackedQueries)")
      try twin.same()
    },
    BackendCheck(.usage, "usage counts leaves and priorities after every kind of edit", .usageDrift)
    { bench in
      let twin = try await bench.twin()
      var random = SeededRandom(seed: 23)
      for round in 0..<25 {
        let path = random.path(3)
        try await twin.set(path, random.chance(25) ? .empty : random.node(depth: 3, width: 6))
        if round % 5 == 4 {
          try await twin.commit(.prune(twin.tree, PruneForest([random.path(2): .prune])))
        }
        let usage = try twin.usage(twin.tree)
        let leaves = try twin.model.tree(twin.tree).root.countOfRecords
        try requireEqual(usage.leaves, leaves, "usage.leaves in round \(round)")
        try require((usage.cache == 0) == (leaves == 0), "\(usage.cache) bytes, \(leaves) leaves")
      }
    },
    BackendCheck(.usage, "equal histories take the same", .usageDrift) { bench in
      var found: [(StorageUsage, [QueueTotals])] = []
      for _ in 0..<2 {
        let inner = try BackendBench(bench.factory)
        let twin = try await inner.twin()
        var random = SeededRandom(seed: 29)
        for _ in 0..<20 {
          try await twin.commit(
            .overwrite(twin.tree, random.path(3), random.node(depth: 3, width: 8)),
            .enqueue(twin.lane, .set(random.path(3), random.node(depth: 2, width: 3))))
        }
        found.append((try twin.usage(nil), [try twin.totals(twin.lane)]))
        await inner.finish()
      }
      try requireEqual(found[1].0, found[0].0, "the usage of the second of two equal histories")
      try requireEqual(found[1].1, found[0].1, "the totals of the second of two equal histories")
    },
    BackendCheck(.usage, "the whole is the sum of the trees, and fits the file", .usageDrift) {
      bench in
      let twin = try await bench.twin()
      var random = SeededRandom(seed: 37)
      for id in twin.trees {
        try await twin.commit(
          .overwrite(id, .root, random.node(depth: 4, width: 9)),
          .overwrite(id, "big", .text(100_000)), .pin(Pin(tree: id, path: "p")),
          .enqueue(Lane(tree: id), .set("a", .text(5000))))
      }
      let (all, one, two) = (
        try twin.usage(nil), try twin.usage(twin.tree), try twin.usage(twin.other)
      )
      for (name, part) in [
        ("cache", \StorageUsage.cache), ("queue", \.queue), ("pins", \.pins),
        ("leaves", \.leaves), ("rawCache", \.rawCache),
      ] {
        let sum = one[keyPath: part] + two[keyPath: part]
        try requireEqual(all[keyPath: part], sum, "usage.\(name) of the store")
      }
      let size = try twin.backend.size()
      if bench.factory.declared.isPersistent {
        try require(
          all.total <= size.file, "\(all.total) bytes in records, \(size.file) in files")
      }
    },
    BackendCheck(.usage, "usage is the same after reopening", .usageDrift) { bench in
      let twin = try await bench.twin()
      var random = SeededRandom(seed: 41)
      for _ in 0..<10 {
        try await twin.commit(
          .overwrite(twin.tree, random.path(2), random.node(depth: 3, width: 8)),
          .enqueue(twin.lane, .set("a", random.node(depth: 2, width: 3))))
      }
      let before = (try twin.usage(nil), try twin.totals(twin.lane))
      try await twin.reopen()
      try requireEqual(try twin.usage(nil), before.0, "the usage after reopening")
      try requireEqual(try twin.totals(twin.lane), before.1, "the totals after reopening")
    },
    BackendCheck(.usage, "housekeeping changes no data", .wrongData) { bench in
      let twin = try await bench.twin()
      var random = SeededRandom(seed: 43)
      for round in 0..<12 {
        try await twin.set(random.path(2), random.node(depth: 3, width: 12))
        for _ in 0..<8 { try await twin.set(random.path(4), random.leaf()) }
        if round % 3 == 2 {
          var rounds = 0
          while try await twin.backend.tidy(.milliseconds(50)), rounds < 50 { rounds += 1 }
          try twin.same("after housekeeping in round \(round)")
        }
      }
      try await twin.reopen()
      try twin.same("after reopening")
    },
  ]

  /// Compressed records.
  static let compression: [BackendCheck] = [
    BackendCheck(.usage, "a chat takes at most two fifths of its size", .usageDrift) { bench in
      let twin = try await bench.twin { $0.budget = nil }
      try await twin.set("rooms", Chat.rooms(20, messages: 100))
      while try await twin.backend.tidy(.seconds(1)) {}
      let usage = try twin.usage(twin.tree)
      let ratio = Double(usage.rawCache) / Double(max(1, usage.cache))
      try require(
        ratio >= 2.5, "\(usage.rawCache) bytes take \(usage.cache): a ratio of \(ratio)")
    },
    BackendCheck(.usage, "what was stored with compression is read without, and back", .wrongData) {
      bench in
      let twin = try await bench.twin { $0.budget = nil }
      let rooms = Chat.rooms(4, messages: 60)
      try await twin.set("rooms", rooms)
      try await twin.commit(.enqueue(twin.lane, .set("w", .text(20_000))))
      for compression: Compression in [.none, bench.factory.options.compression, .none] {
        try await twin.reopen { $0.compression = compression }
        try twin.same("read with compression \(compression)")
        try await twin.set("rooms/room1/messages/m7/text", Node(.string("\(compression)")))
        try await twin.set(Path("more/\(compression)"), rooms[Key("room2")])
        try await twin.commit(.enqueue(twin.lane, .set("w", .text(30_000))))
        try twin.same("written with compression \(compression)")
      }
    },
    BackendCheck(.usage, "compression changes no snapshot", .wrongData) { bench in
      let rooms = Chat.rooms(5, messages: 80)
      for compression: Compression in [.none, .zstd(level: 1), .zstd(level: 9)] {
        let inner = try BackendBench(bench.factory)
        let twin = try await inner.twin { $0.compression = compression }
        try await twin.set("rooms", rooms)
        try await twin.set("rooms/room3", .empty)
        try twin.same("with compression \(compression)")
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
