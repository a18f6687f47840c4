internal import ConiferKeyValue
internal import ConiferQuery
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  private static let lists: Path = "rooms/$room/list"

  /// An index for each order of the random queries, and some that no query uses.
  private static func definitions() throws -> [IndexDefinition] {
    let useless = [
      try IndexDefinition(
        lists, [.init(.child("v"), isDescending: true), .init(.priority), .init(.child("a/b"))]),
      try IndexDefinition("rooms", by: .child("list/m1/v")),
      try IndexDefinition("$any/$other", by: .value),
    ]
    return try SeededRandom.sortings.map { try IndexDefinition(lists, by: $0) } + useless
  }

  /// Queries with indexes. Each backend keeps the declared indexes, whether it uses them or not.
  static let indexes: [BackendCheck] = [
    BackendCheck(.indexes, "indexes are declared as a set, and kept") { fixture in
      let pair = try await fixture.pair()
      let tree = pair.tree
      let (ts, name) = (
        try IndexDefinition("rooms/$room/messages", by: .child("ts")),
        try IndexDefinition("users", by: .child("name/last"))
      )
      try await pair.commit(.setIndexes(tree, [ts, name, ts]))
      try pair.requireSame("after declaring")
      try await pair.reopen()
      try pair.requireSame("after opening again")
      let renamed = try IndexDefinition("rooms/$id/messages", by: .child("ts"))
      try require(renamed == ts, "the name of a wildcard makes another index")
      try await pair.commit(.setIndexes(tree, [renamed]))
      try await pair.commit(.overwrite(tree, "users/u1", ["name": ["last": "x"]]))
      try pair.requireSame("after one was dropped")
      try await pair.finishIndexes()
      try pair.isSound()
      try await pair.commit(.setIndexes(tree, []))
      try await pair.finishIndexes()
      try pair.requireSame("after all were dropped")
      try pair.isSound()
      try await pair.refuse(
        "declaring indexes of an unknown tree", .setIndexes(TreeID(rawValue: 4_000_000), [ts]))
      for bad: () throws -> IndexDefinition in [
        { try IndexDefinition("a", by: .key) }, { try IndexDefinition("a", []) },
        { try IndexDefinition("a/.priority", by: .value) },
        { try IndexDefinition("a", by: .child("b/.x")) },
      ] {
        do {
          let definition = try bad()
          throw ConformanceFailure(.wrongError, "the index \(definition) was not refused")
        } catch let error as StoreError {
          try require(error.code == .invalid, .wrongError, "a bad index was refused as \(error)")
        }
      }
    },
    BackendCheck(
      .indexes, "with indexes, queries give the same after every kind of edit", .wrongData
    ) {
      fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 57)
      try await pair.commit(.setIndexes(pair.tree, try definitions()))
      for round in 0..<40 {
        try await pair.commit(pair.editLists(&random))
        for room in ["r1", "r2"] as [Key] {
          try pair.requireAnswers(
            Path([Key("rooms"), room, "list"]), 8, &random, "in round \(round)")
        }
        if round % 8 == 7 {
          try await pair.finishIndexes()
          try pair.isSound()
          try await pair.reopen()
        }
      }
      try pair.requireSame()
    },
    BackendCheck(.indexes, "queries are right before, during and after a build", .wrongData) {
      fixture in
      let pair = try await fixture.pair()
      var random = SeededRandom(seed: 58)
      for room in 0..<4 {
        let children = (0..<400).map { (Key("m\($0)"), random.sortedChild()) }
        try await pair.set(Path([Key("rooms"), Key("r\(room)"), "list"]), Node(children: children))
      }
      try pair.requireAnswers("rooms/r1/list", 20, &random, "before")
      try await pair.commit(.setIndexes(pair.tree, try definitions()))
      for step in 0..<12 {
        for room in 0..<4 {
          try pair.requireAnswers(
            Path([Key("rooms"), Key("r\(room)"), "list"]), 4, &random, "in step \(step) of a build")
        }
        try await pair.commit(pair.editLists(&random))
        _ = try await pair.backend.tidy(.nanoseconds(1))
        if step % 5 == 4 { try await pair.reopen() }
      }
      try await pair.finishIndexes()
      for status in try pair.indexes() {
        try require(
          status.state == .ready, "\(status.definition) is not built, but \(status.state)")
      }
      for room in 0..<4 {
        try pair.requireAnswers(
          Path([Key("rooms"), Key("r\(room)"), "list"]), 20, &random, "after")
      }
      try pair.isSound()
      try pair.requireSame()
    },
    BackendCheck(
      .indexes, "the last 50 of 10,000 by an index read about 50 entries, where it is counted"
    ) {
      fixture in
      let pair = try await fixture.pair()
      let messages: Path = "rooms/r1/messages"
      let rows = Node(
        children: (0..<10_000).map {
          (Key("m\(100_000 + $0)"), ["ts": Node(.integer(Int64($0 * 7))), "text": .text(40)])
        })
      try await pair.set(messages, rows)
      let last = try QuerySpec.default.ordered(byChild: "ts").limited(toLast: 50)
      let before = try pair.requireAnswers(messages, last)
      if before.plan == .node, let hint = before.hint {
        try requireEqual(hint, IndexDefinition(messages, by: .child("ts")), "the hint")
      }
      try await pair.commit(
        .setIndexes(
          pair.tree, [try IndexDefinition("rooms/$room/messages", by: .child("ts"))]))
      try await pair.finishIndexes()
      for spec in [
        last, try QuerySpec.default.ordered(byChild: "ts").limited(toFirst: 50),
        try QuerySpec.default.ordered(byChild: "ts").starting(at: 35_000).limited(toFirst: 50),
        try QuerySpec.default.ordered(byChild: "ts").ending(before: 35_000).limited(toLast: 50),
        try QuerySpec.default.ordered(byChild: "ts").starting(at: 700).ending(at: 1043),
      ] {
        let explanation = try pair.requireAnswers(messages, spec)
        guard case .index = explanation.plan else { continue }
        try require(
          explanation.indexEntries <= 55 && explanation.runsRead <= 4 && explanation.hint == nil,
          "50 children of 10,000 cost much: \(explanation)")
      }
    },
  ]
}

extension ModelPair {
  /// The states of the indexes of the first tree.
  func indexes() throws -> [IndexStatus] {
    let tree = tree
    return try backend.read { (view) throws(StoreError) in try view.indexes(tree) }
  }

  /// Lets the backend finish building its indexes.
  func finishIndexes() async throws {
    for _ in 0..<10_000 {
      if try await backend.tidy(.milliseconds(50)) { continue }
      // An entry that did not fit its child would have been reported.
      let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
      return try require(incidents.isEmpty, "an index did not fit its data: \(incidents)")
    }
    throw ConformanceFailure("tidying never comes to an end")
  }

  /// Some edits of the lists that the random queries read.
  fileprivate func editLists(_ random: inout SeededRandom) throws -> [StorageEdit] {
    var edits: [StorageEdit] = []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let room = Path([Key("rooms"), random.pick(["r1", "r2", "r3"])])
      let list = room.appending(Key("list"))
      let node = try ModelView(model).node(tree, list, .all)
      let known = node.children.randomElement(using: &random)?.key ?? random.sortedKey()
      let child = list.appending(random.chance(60) ? known : random.sortedKey())
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<30: edits.append(.overwrite(tree, child, random.sortedChild()))
      case 30..<45: edits.append(.overwrite(tree, child, .empty))
      case 45..<55:
        let place: Path = random.pick(["v", "a/b", "a", "t"])
        edits.append(.overwrite(tree, child.appending(place), Node(random.sortedValue())))
      case 55..<60: edits.append(.overwrite(tree, child.appending(Key("v")), .empty))
      case 60..<66:
        let priority = random.chance(70) ? Priority(random.sortedValue()) : nil
        let leaf = priority.map { Node($0.leaf) } ?? .empty
        edits.append(.overwrite(tree, child.appending(Key.priority), leaf))
      case 66..<74:
        let changes = (0..<6).map { _ in
          WriteContent.Change(
            Path([random.sortedKey()]),
            random.chance(25) ? .empty : random.sortedChild())
        }
        edits.append(.merge(tree, list, changes))
      case 74..<84:
        let size = random.pick([0, 1, 30, 200])
        let children = (0..<size).map { _ in (random.sortedKey(), random.sortedChild()) }
        edits.append(.overwrite(tree, list, Node(children: children)))
      case 84..<88: edits.append(.overwrite(tree, list, Node(random.sortedValue())))
      case 88..<92: edits.append(.prune(tree, PruneForest([list: .prune, child: .keep])))
      case 92..<95: edits.append(.prune(tree, PruneForest([child: .prune])))
      case 95..<97: edits.append(.overwrite(tree, room, .empty))
      case 97..<98: edits.append(.overwrite(tree, "rooms", .empty))
      default: edits.append(.overwrite(tree, "other", random.sortedChild()))
      }
    }
    return edits
  }
}
