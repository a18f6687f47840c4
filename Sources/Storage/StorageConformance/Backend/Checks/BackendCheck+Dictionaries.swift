internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Compression dictionaries, seen through usage alone: a backend without any passes.
  static let dictionaries: [BackendCheck] = [
    BackendCheck(
      .dictionaries, "tidying a large tree changes no data and comes to an end", .wrongData
    ) {
      bench in
      let twin = try await bench.twin { $0.budget = nil }
      try await twin.set("rooms", Chat.rooms(80, messages: 100))
      let loaded = try twin.usage(twin.tree)
      try requireEqual(loaded.dictionaries, 0, "usage.dictionaries before any tidying")
      try await twin.tidyAll()
      try twin.same("after tidying")
      let tidied = try twin.usage(nil)
      try requireEqual(tidied.leaves, loaded.leaves, "usage.leaves after tidying")
      try require(
        tidied.total <= loaded.total,
        "\(loaded.total) bytes of records became \(tidied.total) by tidying")
      try twin.requireSums()
      // Another round over an unchanged store finds nothing to write.
      let size = try twin.backend.size()
      try requireEqual(
        try await twin.backend.tidy(.seconds(1)), false, "whether more is left when all is tidy")
      try requireEqual(try twin.usage(nil), tidied, "the usage after a second tidying")
      try bench.requireSize(try twin.backend.size(), size, "the size after a second tidying")
      try await twin.reopen()
      try requireEqual(try twin.usage(nil), tidied, "the usage after reopening")
      try twin.same("after reopening")
    },
    BackendCheck(
      .dictionaries, "what was written before and after tidying is read side by side", .wrongData
    ) {
      bench in
      let twin = try await bench.twin { $0.budget = nil }
      try await twin.set("rooms", Chat.rooms(75, messages: 100))
      try await twin.tidyAll()
      let rooms = Chat.rooms(8, messages: 50)
      for round in 0..<3 {
        try await twin.set(Path("more/\(round)"), rooms)
        try await twin.set(Path("rooms/room\(round)/messages/m7/text"), .text(40 + round))
        try await twin.set(Path("rooms/room\(round + 10)"), .empty)
        try twin.same("in round \(round)")
        try await twin.reopen { if round == 1 { $0.compression = .none } }
        try twin.same("after reopening in round \(round)")
        if round == 2 { try await twin.tidyAll() }
      }
      try twin.same("after the last tidying")
      try twin.requireSums()
    },
    BackendCheck(.dictionaries, "data of another kind is tidied as well", .wrongData) { bench in
      let twin = try await bench.twin { $0.budget = nil }
      try await twin.set("rooms", Chat.rooms(75, messages: 100))
      try await twin.tidyAll()
      var random = SeededRandom(seed: 53)
      for part in 0..<4 {
        let rows = Node(
          children: (0..<1500).map { index -> (Key, Node) in
            let row: Node = [
              "id": Node(.string(String(random.next(), radix: 36))),
              "state": Node(.string(random.pick(["open", "shipped", "paid", "returned"]))),
              "amount": Node(.integer(Int64.random(in: 1...100_000, using: &random))),
            ]
            return (Key("order\(10_000 + index)"), row)
          })
        try await twin.set(Path("orders/\(part)"), rows)
      }
      try await twin.tidyAll()
      try twin.same("after tidying both kinds")
      try await twin.set("rooms", .empty)
      try await twin.tidyAll()
      try twin.same("after the first kind was removed")
      try twin.requireSums()
      try await twin.reopen()
      try twin.same("after reopening")
    },
    BackendCheck(.dictionaries, "commits go on while a tree is tidied", .wrongData) { bench in
      let twin = try await bench.twin { $0.budget = nil }
      try await twin.set("rooms", Chat.rooms(75, messages: 100))
      let backend = twin.backend
      let tidying = Task { () async throws -> Void in
        while try await backend.tidy(.milliseconds(20)) {}
      }
      for round in 0..<30 {
        try await twin.set(Path("rooms/room\(round)/messages/m3/text"), .text(30 + round))
        try await twin.set(Path("new/\(round)"), Chat.rooms(1, messages: 20))
      }
      try await tidying.value
      try twin.same("after commits beside a tidying")
      try await twin.tidyAll()
      try twin.same("after another tidying")
      try twin.requireSums()
    },
    BackendCheck(.dictionaries, "a wiped and an emptied tree leave no dictionary", .usageDrift) {
      bench in
      let twin = try await bench.twin { $0.budget = nil }
      let rooms = Chat.rooms(75, messages: 100)
      try await twin.commit(
        .overwrite(twin.tree, "rooms", rooms), .overwrite(twin.other, "rooms", rooms))
      // A backend may train for one tree at a time.
      for round in 0..<2 {
        try await twin.tidyAll()
        try await twin.commit(.setMetadata(twin.tree, "round", [UInt8(round)]))
      }
      try await twin.tidyAll()
      let other = try twin.usage(twin.other).dictionaries
      try await twin.wipe(0)
      try requireEqual(try twin.usage(nil).dictionaries, other, "usage.dictionaries after a wipe")
      try twin.same("after a wipe")
      try await twin.commit(.overwrite(twin.other, .root, .empty))
      try await twin.tidyAll()
      let left = try twin.usage(nil)
      try requireEqual(left.dictionaries, 0, "usage.dictionaries of an empty store")
      try requireEqual(left.dictionaryCount, 0, "usage.dictionaryCount of an empty store")
      try await twin.reopen()
      try twin.same("after reopening")
    },
  ]
}

extension Twin {
  /// Tidies until nothing is left to do.
  fileprivate func tidyAll() async throws {
    while try await backend.tidy(.seconds(1)) {}
  }

  /// Requires that the usage of the store is the sum of its trees, and that of a tree of its kinds.
  fileprivate func requireSums() throws {
    let all = try usage(nil)
    let each = try trees.map { try usage($0) }
    let parts: [(String, KeyPath<StorageUsage, Int>)] = [
      ("dictionaries", \.dictionaries), ("dictionaryCount", \.dictionaryCount),
      ("runs.raw", \.runs.raw), ("runs.stored", \.runs.stored), ("deltas.raw", \.deltas.raw),
      ("deltas.stored", \.deltas.stored), ("largeLeaves.raw", \.largeLeaves.raw),
      ("largeLeaves.stored", \.largeLeaves.stored), ("cache", \.cache),
    ]
    for (name, part) in parts {
      let sum = each.reduce(0) { $0 + $1[keyPath: part] }
      try requireEqual(all[keyPath: part], sum, "usage.\(name) of the store")
    }
    for usage in each {
      try requireEqual(
        usage.dictionaries > 0, usage.dictionaryCount > 0, "whether dictionaries take bytes")
      try requireEqual(
        usage.cache, usage.runs.stored + usage.deltas.stored + usage.largeLeaves.stored,
        "usage.cache of its kinds")
    }
  }
}
