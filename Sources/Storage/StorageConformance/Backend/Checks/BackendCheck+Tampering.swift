internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Records that are missing, swapped, or under forged keys.
  static let tampering: [BackendCheck] = [
    BackendCheck(.store, "missing records lose nothing without a report", .silentLoss) { fixture in
      try await Tampering(fixture).run(isToldAtOpening: true) { record, _, _ in [nil] }
    },
    BackendCheck(.store, "swapped records lose nothing without a report", .silentLoss) { fixture in
      try await Tampering(fixture).run { record, others, random in
        let other = random.pick(others)
        return [record.holding(other.value), other.holding(record.value)]
      }
    },
    BackendCheck(.store, "records under forged keys lose nothing without a report", .silentLoss) {
      fixture in
      try await Tampering(fixture).run(isForged: true) { record, _, random in
        let (key, count) = (record.key, record.key.count)
        let low = min(4, count)
        let keys: [Bytes] = [
          key.prefix(max(low, count - 8)) + Bytes(repeating: 0xFF, count: 8),
          key.prefix(max(low, count - 8)) + Bytes(repeating: 0, count: 8),
          key.prefix(max(low, count - 8)) + [0x7F] + Bytes(repeating: 0xFF, count: 7),
          key.prefix(low) + Bytes(repeating: 0xFF, count: 8) + key.dropFirst(12), key + [0],
          Bytes(key.prefix(Int.random(in: low...max(low, count - 1), using: &random))),
        ]
        // The record is moved, or copied.
        let moved = record.moved(to: random.pick(keys))
        return random.one(in: 2) ? [nil, moved] : [moved]
      }
    },
  ]
}

/// Changes single records of one of two trees, and checks that the backend loses nothing without a
/// report.
private struct Tampering {
  /// All that can be read of a tree.
  private struct Content: Equatable {
    var root = Node.empty
    var waiting: [QueuedWrite] = []
    var rejected: [QueuedWrite] = []
    var queries: [StoredQuery] = []
    var keys: [[Key]] = []
    var pins: [Pin] = []
    var metadata: [UInt8]?

    init(_ backend: any StorageBackend, _ tree: TreeID) throws {
      let lane = Lane(tree: tree, identity: "ann")
      self = try backend.read { (view) throws(StoreError) in
        var content = Content()
        content.root = try view.node(tree, .root)
        content.waiting = try view.writes(lane, after: nil, limit: 99)
        content.rejected = try view.rejectedWrites(lane, after: nil, limit: 99)
        content.queries = try view.trackedQueries(tree, after: nil, limit: 99)
        for query in content.queries {
          content.keys.append(try view.trackedKeys(tree, query.id))
        }
        content.pins = try view.pins(tree)
        content.metadata = try view.metadata(tree, "cursor")
        _ = try view.totals(lane)
        _ = try view.finishedWrites(lane, after: nil, limit: 99)
        return content
      }
    }

    init() {}
  }

  /// Returns the replacements of a record, nil for none. The other records are of the same space.
  typealias Change = (StoredRecord, [StoredRecord], inout SeededRandom) -> [StoredRecord?]

  private let fixture: BackendFixture
  private static let large = Node.text(300_000)
  /// The rooms before one leaf was changed.
  private static let rooms: [Node] = {
    var random = SeededRandom(seed: 7)
    return (0..<4).map { _ in
      Node(children: (0..<20).map { (Key("m\($0)"), random.noise(400)) })
    }
  }()

  init(_ fixture: BackendFixture) { self.fixture = fixture }

  /// The spaces of the queue, the pins, the queries and the counts, by the numbers of the format: what is gone from them is
  /// told when the store opens.
  private static let lookedAt: Set<UInt8> = [5, 6, 7, 8, 9, 10, 11, 12, 14, 18, 20, 21]

  func run(
    isForged: Bool = false, isToldAtOpening: Bool = false, _ change: Change
  ) async throws {
    var backend = try fixture.open()
    _ = try held(backend)
    let trees = try await fill(backend)
    let expected = try trees.map { try Content(backend, $0) }
    let records = try held(backend).records()
    let seeds: [UInt64] = try Variable.seed().map { [$0] } ?? [1, 2]
    for seed in seeds.prefix(fixture.factory.declared.isPersistent ? 1 : 2) {
      var random = SeededRandom(seed: seed)
      for kind in kinds(records, of: trees[0]) {
        let record = random.pick(kind)
        let others = kind.filter { $0.key != record.key }
        if others.isEmpty { continue }
        let changes = change(record, others, &random)
        var changed = records
        if let first = changes.first, first == nil { changed.removeAll { $0.isAt(record) } }
        for new in changes.compactMap({ $0 }) {
          changed.removeAll { $0.isAt(new) }
          changed.append(new)
        }
        let place = "seed \(seed), space \(record.space.id), key \(record.key)"
        do {
          let next = try await reopened(backend, changed)
          if isToldAtOpening, Self.lookedAt.contains(record.space.id) {
            try requireTold(next, trees[0], place)
          }
          backend = try await check(
            next, trees, expected, isForged: isForged, seed: seed, place)
        } catch let error as StoreError {
          // Without the registry nothing says which tree the records belong to.
          let isRefused = record.space.id == 1 && [.damaged, .foreign].contains(error.code)
          try require(isRefused, .refused, "\(error), \(place)")
          backend = try await reopened(backend, records)
        }
      }
    }
  }

  private func fill(_ backend: any StorageBackend) async throws -> [TreeID] {
    var trees: [TreeID] = []
    for name in ["first", "second"] {
      let tree = try await backend.tree(named: name)
      trees.append(tree)
      let lane = Lane(tree: tree, identity: "ann")
      for (room, node) in Self.rooms.enumerated() {
        let path = Path("rooms/r\(room)")
        _ = try await backend.commit([
          .overwrite(tree, path, node), .enqueue(lane, .set(path, Node(.integer(Int64(room))))),
          .saveQuery(TrackedQuery(tree: tree, path: path, isComplete: true)),
        ])
      }
      let filtered = TrackedQuery(tree: tree, path: "rooms", parameters: "{\"l\":2}")
      let saved = try await backend.commit([.saveQuery(filtered)]).queries
      _ = try await backend.commit([
        .overwrite(tree, "rooms/r1/m7", "changed"), .overwrite(tree, "large", Self.large),
        .enqueue(lane, .set("big", .text(20_000))), .setMetadata(tree, "cursor", [1, 2]),
        .pin(Pin(tree: tree, path: "rooms/r1")), .pin(Pin(tree: tree, path: "rooms/r2")),
        .finish(lane, WriteID(rawValue: 1), .acknowledged),
        .setState(lane, WriteID(rawValue: 2), .rejected(reason: "no")),
        .report(Incident(kind: .recordSetAside, tree: tree, place: "before", bytes: [1])),
      ])
      for id in saved { _ = try await backend.commit([.setTrackedKeys(tree, id, ["r0", "r1"])]) }
    }
    return trees
  }

  /// The records of a tree and of the registry, by kind.
  private func kinds(_ records: [StoredRecord], of tree: TreeID) -> [[StoredRecord]] {
    var kinds: [[Int]: [StoredRecord]] = [:]
    let number = tree.rawValue
    let prefix = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
    for record in records where record.space.id == 1 || record.key.starts(with: prefix) {
      // The last row of a space, and each first letter of a key, are kinds of their own.
      let last = record.key.last == 0xFF ? 1 : 0
      let letter = record.space.id == 1 && record.key.count > 4 ? Int(record.key[4]) : 0
      kinds[[Int(record.space.id), last, letter], default: []].append(record)
    }
    return kinds.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }

  private func held(_ backend: any StorageBackend) throws -> any PackedRecords {
    guard let held = backend as? any PackedRecords else {
      throw NotApplicable("keeps its records in a form of its own")
    }
    return held
  }

  /// Another backend on other records.
  private func reopened(
    _ backend: any StorageBackend, _ records: [StoredRecord]
  ) async throws -> any StorageBackend {
    var options = fixture.factory.options
    (options.budget, options.encryption) = (nil, nil)
    return try await held(backend).replaced(by: records, options)
  }

  /// Requires that the content is unchanged, or that an incident or `verify` reports the loss.
  private func requireIntactOrReported(
    _ backend: any StorageBackend, _ trees: [TreeID], _ expected: [Content], isForged: Bool,
    _ place: String
  ) throws {
    let isSeenByVerify = try !backend.verifying().verify().isSound
    let found = try Content(backend, trees[0])
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    let isReported = incidents.contains { $0.place != "before" }
    // A loss that no reader gets reported, and only `verify` finds, is counted separately.
    func requireReported(_ isThere: Bool, _ what: String, _ anomaly: Anomaly) throws {
      if isThere || isReported { return }
      try require(isSeenByVerify, anomaly, "\(what) is gone and nothing tells of it, \(place)")
      CheckRecord.current?.count("losses that only verify sees")
    }
    try requireReported(found == expected[0], "something", .silentLoss)
    if !isForged {
      for (path, leaf) in found.root.leaves {
        // Without the record of a delta the leaf has its earlier value.
        let isEarlier = path == "rooms/r1/m7" && leaf == Self.rooms[1][Key("m7")]
        let isWritten = leaf == expected[0].root[path]
        try require(isWritten || isEarlier, .wrongData, "\(path) is \(leaf), \(place)")
      }
    }
    for write in expected[0].waiting {
      try requireReported(
        found.waiting.contains(write), "write \(write.id.rawValue)", .lostAcknowledged)
    }
    try require(
      Content(backend, trees[1]) == expected[1], .wrongData, "the other tree changed, \(place)")
  }

  /// Requires that a report tells of a loss before anything was read.
  private func requireTold(
    _ backend: any StorageBackend, _ tree: TreeID, _ place: String
  ) throws {
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    let isTold = incidents.contains {
      [.recordSetAside, .writeSetAside].contains($0.kind) && $0.tree == tree
        && $0.place != "before"
    }
    try require(isTold, .silentLoss, "a record is gone and the opening does not tell, \(place)")
    CheckRecord.current?.count("losses that the opening tells")
  }

  private func requireTrees(_ backend: any StorageBackend, _ trees: [TreeID]) async throws {
    for (name, tree) in zip(["first", "second"], trees) {
      let found = try await backend.tree(named: name)
      try require(found == tree, .lostAcknowledged, "a tree is gone")
    }
  }

  /// Queues a write and requires that it gets a new number.
  private func enqueue(
    _ backend: any StorageBackend, _ lane: Lane, _ given: Set<WriteID>, isForged: Bool,
    _ place: String
  ) async throws {
    do throws(StoreError) {
      let receipt = try await backend.commit([.enqueue(lane, .set("new", 1))])
      let isNew = receipt.writes.allSatisfy { !given.contains($0) }
      guard isNew else { throw StoreError(.invalid, "the number of a write was given again") }
    } catch {
      // A forged key may say that all numbers were given.
      try require(isForged && error.code == .tooLarge, .refused, "\(error), \(place)")
    }
  }

  /// Checks the content, commits, reopens and checks again.
  // Not optimized: Swift 6.3.1 crashes when it splits this function.
  @_optimize(none)
  private func check(
    _ backend: any StorageBackend, _ trees: [TreeID], _ expected: [Content], isForged: Bool,
    seed: UInt64, _ place: String
  ) async throws -> any StorageBackend {
    let (tree, lane) = (trees[0], Lane(tree: trees[0], identity: "ann"))
    try await requireTrees(backend, trees)
    try requireIntactOrReported(backend, trees, expected, isForged: isForged, place)
    let given = Set(expected[0].waiting.map(\.id) + [WriteID(rawValue: 1), WriteID(rawValue: 2)])
    let edits: [StorageEdit] = [
      .overwrite(tree, "new/small", "new"), .overwrite(tree, "new/large", Self.large),
      .saveQuery(TrackedQuery(tree: tree, path: "new", isComplete: true)),
    ]
    _ = try await backend.commit(edits)
    try await enqueue(backend, lane, given, isForged: isForged, place)
    let before = try Content(backend, tree)
    let records = try held(backend).records()
    let again = try await reopened(backend, records)
    let after = try Content(again, tree)
    let new: Node = ["small": "new", "large": Self.large]
    try require(
      after.root[Key("new")] == new, .lostAcknowledged, "what came later is gone, \(place)")
    try require(after == before, .lostAcknowledged, "a reopening changed it, \(place)")
    try require(
      Content(again, trees[1]) == expected[1], .wrongData, "the other tree changed, \(place)")
    return again
  }
}

extension StoredRecord {
  fileprivate func isAt(_ other: StoredRecord) -> Bool {
    space == other.space && key == other.key
  }
}

extension Node {
  /// The leaves with their paths.
  fileprivate var leaves: [(path: Path, leaf: Node)] {
    guard !children.isEmpty else { return isEmpty ? [] : [(.root, self)] }
    return children.flatMap { key, child in
      child.leaves.map { (Path([key] + $0.path.keys), $0.leaf) }
    }
  }
}
