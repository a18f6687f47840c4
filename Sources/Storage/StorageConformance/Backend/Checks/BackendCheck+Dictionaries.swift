internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Compression dictionaries, observed only through `usage`: a backend without any passes.
  static let dictionaries: [BackendCheck] = [
    BackendCheck(
      .dictionaries, "tidying a large tree changes no data and comes to an end", .wrongData
    ) {
      fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      try await pair.set("rooms", Chat.rooms(80, messages: 100))
      let loaded = try pair.usage(pair.tree)
      try requireEqual(loaded.dictionaries, 0, "usage.dictionaries before any tidying")
      try await pair.tidyAll()
      try pair.requireSame("after tidying")
      let tidied = try pair.usage(nil)
      try requireEqual(tidied.leaves, loaded.leaves, "usage.leaves after tidying")
      try require(
        tidied.total <= loaded.total,
        "\(loaded.total) bytes of records became \(tidied.total) by tidying")
      try pair.requireSums()
      // Another round over an unchanged store finds nothing to write.
      let size = try pair.backend.size()
      try requireEqual(
        try await pair.backend.tidy(.seconds(1)), false, "whether more is left when all is tidy")
      try requireEqual(try pair.usage(nil), tidied, "the usage after a second tidying")
      try fixture.requireSize(try pair.backend.size(), size, "the size after a second tidying")
      try await pair.reopen()
      try requireEqual(try pair.usage(nil), tidied, "the usage after reopening")
      try pair.requireSame("after reopening")
    },
    BackendCheck(
      .dictionaries, "what was written before and after tidying is read side by side", .wrongData
    ) {
      fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      try await pair.set("rooms", Chat.rooms(75, messages: 100))
      try await pair.tidyAll()
      let rooms = Chat.rooms(8, messages: 50)
      for round in 0..<3 {
        try await pair.set(Path("more/\(round)"), rooms)
        try await pair.set(Path("rooms/room\(round)/messages/m7/text"), .text(40 + round))
        try await pair.set(Path("rooms/room\(round + 10)"), .empty)
        try pair.requireSame("in round \(round)")
        try await pair.reopen { if round == 1 { $0.compression = .none } }
        try pair.requireSame("after reopening in round \(round)")
        if round == 2 { try await pair.tidyAll() }
      }
      try pair.requireSame("after the last tidying")
      try pair.requireSums()
    },
    BackendCheck(.dictionaries, "data of another kind is tidied as well", .wrongData) { fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      try await pair.set("rooms", Chat.rooms(75, messages: 100))
      try await pair.tidyAll()
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
        try await pair.set(Path("orders/\(part)"), rows)
      }
      try await pair.tidyAll()
      try pair.requireSame("after tidying both kinds")
      try await pair.set("rooms", .empty)
      try await pair.tidyAll()
      try pair.requireSame("after the first kind was removed")
      try pair.requireSums()
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
    BackendCheck(.dictionaries, "commits go on while a tree is tidied", .wrongData) { fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      try await pair.set("rooms", Chat.rooms(75, messages: 100))
      let backend = pair.backend
      let tidying = Task { () async throws -> Void in
        while try await backend.tidy(.milliseconds(20)) {}
      }
      for round in 0..<30 {
        try await pair.set(Path("rooms/room\(round)/messages/m3/text"), .text(30 + round))
        try await pair.set(Path("new/\(round)"), Chat.rooms(1, messages: 20))
      }
      try await tidying.value
      try pair.requireSame("after commits beside a tidying")
      try await pair.tidyAll()
      try pair.requireSame("after another tidying")
      try pair.requireSums()
    },
    BackendCheck(.dictionaries, "a wiped and an emptied tree leave no dictionary", .usageDrift) {
      fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      let rooms = Chat.rooms(75, messages: 100)
      try await pair.commit(
        .overwrite(pair.tree, "rooms", rooms), .overwrite(pair.other, "rooms", rooms))
      // A backend may train for one tree at a time.
      for round in 0..<2 {
        try await pair.tidyAll()
        try await pair.commit(.setMetadata(pair.tree, "round", [UInt8(round)]))
      }
      try await pair.tidyAll()
      let other = try pair.usage(pair.other).dictionaries
      try await pair.wipe(0)
      try requireEqual(try pair.usage(nil).dictionaries, other, "usage.dictionaries after a wipe")
      try pair.requireSame("after a wipe")
      try await pair.commit(.overwrite(pair.other, .root, .empty))
      try await pair.tidyAll()
      let left = try pair.usage(nil)
      try requireEqual(left.dictionaries, 0, "usage.dictionaries of an empty store")
      try requireEqual(left.dictionaryCount, 0, "usage.dictionaryCount of an empty store")
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
  ]
}

extension ModelPair {
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
      ("largeLeaves.stored", \.largeLeaves.stored), ("leafBytes", \.leafBytes),
    ]
    for (name, part) in parts {
      let sum = each.reduce(0) { $0 + $1[keyPath: part] }
      try requireEqual(all[keyPath: part], sum, "usage.\(name) of the store")
    }
    for usage in each {
      try requireEqual(
        usage.dictionaries > 0, usage.dictionaryCount > 0, "whether dictionaries take bytes")
      try requireEqual(
        usage.leafBytes, usage.runs.stored + usage.deltas.stored + usage.largeLeaves.stored,
        "usage.leafBytes of its kinds")
    }
  }
}
