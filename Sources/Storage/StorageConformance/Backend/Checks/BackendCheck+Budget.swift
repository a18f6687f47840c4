internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// A backend that keeps its budget by itself.
  ///
  /// `CONIFER_STREAM=full` in the environment streams 1,000,000 leaves at 10 MiB.
  static let budgets: [BackendCheck] = [
    BackendCheck(
      .eviction, "a stream of data exceeds the budget by no more than is allowed", .usageDrift
    ) {
      fixture in
      let size = Variable.text("CONIFER_STREAM")
      if let size, size != "full" {
        throw Variable.refusal("CONIFER_STREAM", size, "\"full\"")
      }
      let isFull = size != nil
      let budget = isFull ? StorageOptions.standardBudget : StorageOptions.smallestBudget
      let pair = try await fixture.pair { $0.budget = budget }
      let (backend, tree) = (pair.backend, pair.tree)
      try requireEqual(backend.traits.budget, budget, "traits.budget")
      var random = SeededRandom(seed: 71)
      var kept: [Int: Node] = [:]
      var active: [Path] = []
      let leaves = 100
      for room in 0..<(isFull ? 10_000 : 400) {
        let path = Path("rooms/r\(room)")
        let node = Node(children: (0..<leaves).map { (Key("m\($0)"), random.noise(150)) })
        var edits: [StorageEdit] = [
          .overwrite(tree, path, node),
          .saveQuery(
            TrackedQuery(tree: tree, path: path, isComplete: true, lastUse: UInt64(room + 1))),
        ]
        let isKept = room % 40 == 3
        if isKept, room % 80 == 3 { edits.append(.pin(Pin(tree: tree, path: path))) }
        if isKept, room > 300 { edits.removeLast(edits.count - 2) }
        let id = try await backend.commit(edits).queries[0]
        CheckRecord.current?.count("streamed leaves", leaves)
        if isKept, room <= 300 {
          kept[room] = node
          if room % 80 != 3 {
            backend.setActive(true, id, in: tree)
            active.append(path)
          }
        }
        let space = try backend.evicting().space()
        guard space.cache > budget + 1 << 20 else { continue }
        var held = space.pinned
        for path in active { held += try backend.evicting().explain(tree, path).bytes }
        try require(
          space.cache <= budget + 1 << 20 + held,
          "the cache takes \(space.cache) bytes in room \(room), with \(held) pinned or active and "
            + "a budget of \(budget)")
      }
      for (room, node) in kept {
        try pair.requireNode(Path("rooms/r\(room)"), is: node, ofModel: false)
      }
      try pair.requireNode("rooms/r0", is: .empty, ofModel: false)
      let first = try backend.read { (view) throws(StoreError) in
        try view.trackedQuery(tree, QueryID(rawValue: 1))
      }
      try require(first == nil, "the query whose data is gone is still there")
    },
    BackendCheck(
      .eviction, "with more than 1,000 inactive queries the oldest are removed", .usageDrift
    ) {
      fixture in
      let pair = try await fixture.pair { $0.budget = StorageOptions.standardBudget }
      let (backend, tree) = (pair.backend, pair.tree)
      var ids: [QueryID] = []
      for first in stride(from: 0, to: 1500, by: 100) {
        let edits = (first..<first + 100).map { index in
          StorageEdit.saveQuery(
            TrackedQuery(tree: tree, path: Path("q\(index)"), lastUse: UInt64(index + 1)))
        }
        let new = try await backend.commit(edits).queries
        if first < 500 { for id in new { backend.setActive(true, id, in: tree) } }
        ids += new
      }
      func left() throws -> [QueryID] {
        try backend.read { (view) throws(StoreError) in
          try view.trackedQueries(tree, after: nil, limit: .max).map(\.id)
        }
      }
      // Active queries do not count.
      for _ in 0..<20 { _ = try await backend.tidy(.milliseconds(1)) }
      try requireEqual(try left(), ids, "the list of queries, of which 1,000 are inactive")
      for id in ids.prefix(500) { backend.setActive(false, id, in: tree) }
      var rounds = 0
      while try left().count > 1000, rounds < 2000 {
        rounds += 1
        try await backend.commit([.setMetadata(tree, "round", [UInt8(rounds & 255)])])
      }
      let found = try left()
      try require(
        (800...1000).contains(found.count), "\(found.count) of 1,500 inactive queries are left")
      // Listening made the first 500 the most recently used ones.
      let order = ids.suffix(1000) + ids.prefix(500)
      try requireEqual(found, order.suffix(found.count).sorted(), "the list of queries that stay")
    },
    BackendCheck(.eviction, "an authority never evicts", .lostAcknowledged) { fixture in
      let pair = try await fixture.pair {
        $0.role = .authority
        $0.budget = StorageOptions.smallestBudget
      }
      for room in 0..<200 { try await pair.makeRoom(room, lastUse: UInt64(room + 1)) }
      try await expect(.invalid, "an eviction of an authority") { () throws(StoreError) in
        try await pair.backend.evicting().evict(to: 0, dryRun: false)
      }
      try await expect(.invalid, "a dry run on an authority") { () throws(StoreError) in
        try await pair.backend.evicting().evict(to: nil, dryRun: true)
      }
      for path: Path in [.root, "rooms/r1", "nowhere"] {
        try requireEqual(
          try pair.backend.evicting().explain(pair.tree, path).fate, .never, "the fate of \(path)")
      }
      try pair.requireSame("after more than the budget")
      try require(
        try pair.backend.evicting().space().isOverBudget, "the authority is not over its budget")
    },
    BackendCheck(
      .eviction, "without a size, an eviction goes to nine tenths of the budget", .usageDrift
    ) {
      fixture in
      let budget = StorageOptions.smallestBudget
      let pair = try await fixture.pair { $0.budget = budget }
      while try pair.backend.evicting().space().cache < budget - 60_000 {
        let room = try pair.model.tree(pair.tree).queries.count
        try await pair.makeRoom(room, lastUse: UInt64(room + 1))
      }
      try pair.requireSame("under the budget")
      let report = try await pair.backend.evicting().evict(to: nil, dryRun: false)
      try requireEqual(report.target, budget / 10 * 9, "the target")
      try require(report.isMet, "\(report.after) bytes are left")
      try pair.adopt(report)
    },
  ]
}
