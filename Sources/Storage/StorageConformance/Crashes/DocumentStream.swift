internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// A stream of collections of documents through a cache, with evictions and with indexes that are
/// built along the way.
///
/// Each commit adds a collection and a query that matches some of its documents, and changes the
/// previous collection. Some queries and documents are pinned for a while, and some documents have
/// waiting writes. A commit also records what the store held before it. So after a crash it is
/// known what evictions had removed: it must still be missing, and nothing else may be missing
/// except what an eviction after the newest commit may remove.
struct DocumentStream: CrashWorkload {
  /// The strongest durability of a commit.
  let strongest: Durability
  /// Whether indexes are declared.
  let indexing: Bool

  let words = "a stream of documents"
  let callers = 1

  private static let metadata = "stream"
  private static let group = "docs"
  /// How many of a collection's documents its query matches.
  private static let matched = 4
  /// The document that has a pin of its own, and that the server may report as missing.
  private static let single = 4
  /// The document that is written to.
  private static let written = 5
  private static let documents = 6
  /// For how many more commits a write waits, and for how many a pin lasts.
  private static let patience = 8
  private static let pinned = 12

  /// A stream for backends of a kind; nil for one that does not evict documents.
  init?(_ factory: BackendFactory) {
    guard factory.evicts, let documents = factory.documents else { return nil }
    strongest = factory.declared.strongest
    indexing = documents.indexing
  }

  // MARK: What it writes

  private static func collection(_ number: Int) throws -> CollectionPath {
    try CollectionPath("stream/n\(number)/\(group)")
  }

  private static func path(_ number: Int, _ index: Int) throws -> DocumentPath {
    try DocumentPath("stream/n\(number)/\(group)/d\(index)")
  }

  /// What the server said of a document last, up to a commit.
  private static func document(_ number: Int, _ index: Int, at newest: Int) throws -> Document {
    let isChanged = newest > number && (index == 0 || index == single && isMissing(number))
    let time = try Timestamp(seconds: Int64(isChanged ? number + 1 : number))
    func document(_ state: Document.State) throws -> Document {
      Document(try path(number, index), state, version: time, readTime: time)
    }
    if isChanged, index == single { return try document(.missing) }
    var random = SeededRandom(seed: UInt64(number * documents + index))
    let length = number % 7 == 0 && index == 0 ? 6000 : 120
    let text = (0..<length / 12).map { _ in String(random.next() >> 4, radix: 36) }.joined()
    let fields: [(String, DocumentValue)] = [
      ("k", .integer(Int64((isChanged ? number + 1 : number) % 5))),
      ("tags", .array([.integer(Int64(index)), .integer(Int64(number % 3))])),
      ("isMatch", .boolean(index < matched)), ("text", .string(text)),
    ]
    return try document(.found(MapValue(fields)))
  }

  private static func isMissing(_ number: Int) -> Bool { number % 4 == 0 }

  private static func query(_ number: Int) throws -> DocumentQuery {
    try DocumentQuery(.collection(collection(number)), in: SeededRandom.database)
      .filtered(.field(FieldPath(unchecked: ["isMatch"]), .equal, true))
  }

  private static func hasPinnedQuery(_ number: Int) -> Bool { number > 0 && number % 6 == 0 }
  private static func hasPinnedDocument(_ number: Int) -> Bool { number > 0 && number % 3 == 0 }

  /// The pins that a commit makes.
  private static func pins(_ number: Int, _ lane: Lane) throws -> [Pin] {
    var pins: [Pin] = []
    if hasPinnedDocument(number) {
      pins.append(Pin(tree: lane.tree, path: DocumentKey.treePath(try path(number, single))))
    }
    if hasPinnedQuery(number) { pins.append(Pin(lane, try query(number).target)) }
    return pins
  }

  /// Whether a write is queued with a commit: the one with half its number.
  private static func isWritten(_ number: Int) -> Bool { number % 2 == 0 }

  private static func isWaiting(_ number: Int, at newest: Int) -> Bool {
    isWritten(number) && number <= newest && newest < number + patience
  }

  private static func batch(_ number: Int) throws -> MutationBatch {
    let base = try document(number, written, at: number)
    let write = try ConiferDocument.Mutation.merge(
      path(number, written), [("k", .value(.integer(Int64(number % 5 + 1))))],
      in: SeededRandom.database)
    return MutationBatch([write], written: .zero) { _ in base }
  }

  /// The indexes that are declared after a commit.
  private func indexes(at newest: Int) throws -> [DocumentIndex] {
    guard indexing, newest >= 3 else { return [] }
    let isOfKeys = (newest - 3) / 10 % 2 == 0
    let field: DocumentIndex.Field =
      isOfKeys
      ? .init(FieldPath(unchecked: ["k"])) : .init(FieldPath(unchecked: ["tags"]), .contains)
    return [try DocumentIndex(Self.group, [field], scope: .group)]
  }

  private func edits(
    _ number: Int, _ tree: TreeID, over before: StreamHoldings
  ) throws -> [StorageEdit] {
    let lane = Lane(tree: tree)
    let query = try Self.query(number)
    let id = QueryID(rawValue: UInt64(number))
    var documents = try StreamHoldings.changes(of: number).map {
      DocumentEdit.put(try Self.document($0.number, $0.index, at: number))
    }
    documents.append(
      .setMatches(id, try (0..<Self.matched).map { try Self.path(number, $0) }))
    let time = try Timestamp(seconds: Int64(number))
    documents.append(.setMatchesVersion(id, MatchesVersion(query.source, at: time)))
    if indexing, number % 10 == 3 { documents.append(.setIndexes(try indexes(at: number))) }
    var edits: [StorageEdit] = [
      .saveQuery(tracked(number, lane, query)), .documents(tree, documents),
      .setMetadata(tree, Self.metadata, key(number) + before.bytes),
    ]
    edits += try Self.pins(number, lane).map { .pin($0) }
    edits += try Self.pins(number - Self.pinned, lane).map { .unpin($0) }
    if Self.isWritten(number) {
      edits.append(.enqueue(lane, try Self.batch(number).payload))
      let old = number - Self.patience
      if old > 0 { edits.append(.finish(lane, WriteID(rawValue: UInt64(old / 2)), .acknowledged)) }
    }
    return edits
  }

  private func tracked(_ number: Int, _ lane: Lane, _ query: DocumentQuery) -> TrackedQuery {
    TrackedQuery(
      lane, query.target, isComplete: true, lastUse: UInt64(number), resumeToken: key(number))
  }

  func kinds(of number: Int, by caller: Int) throws -> Set<EditKind> {
    EditKind.kinds(of: try edits(number, TreeID(rawValue: 0), over: StreamHoldings(bytes: [])))
  }

  // MARK: Writing

  /// Whether an eviction follows a commit.
  private static func isEvicting(_ number: Int) -> Bool { number % 5 == 2 }

  func run(
    on backend: any StorageBackend, after held: [Int], _ count: Int, isDurable: Bool,
    issue: @escaping @Sendable (Int, Int) -> Void,
    acknowledge: @escaping @Sendable (Int, Int, Int, Durability) -> Void
  ) async throws {
    let tree = try await backend.tree(named: DocumentChange.tree, order: .documents)
    let first = (held.first ?? 0) + 1
    for number in first..<(first + count) {
      var random = SeededRandom(seed: UInt64(number))
      _ = random.next()
      let durability =
        isDurable ? strongest : random.pick(Durability.allCases.filter { $0 <= strongest })
      let edits = try edits(number, tree, over: holdings(of: backend, tree))
      issue(0, number)
      let receipt = try await backend.commit(edits, durability)
      acknowledge(0, number, number, durability)
      try require(
        receipt.queries == [QueryID(rawValue: UInt64(number))], .reusedID,
        "the query of commit \(number) has the numbers \(receipt.queries)")
      if Self.isEvicting(number) {
        let evicting = try backend.evicting()
        _ = try await evicting.evict(to: try evicting.space().cache / 2, dryRun: false)
      }
      if number % 5 == 1 || number % 5 == 4 { _ = try await backend.tidy(.milliseconds(5)) }
    }
  }

  private func holdings(
    of backend: any StorageBackend, _ tree: TreeID
  ) throws -> StreamHoldings {
    try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try StreamHoldings(view, tree, Self.group)
    }
  }

  // MARK: Checking

  func held(by backend: any StorageBackend, _ bounds: CrashBounds?) throws -> [Int] {
    let state = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try newest(in: view, DocumentChange.tree, Self.metadata) { tree, number, bytes in
        try check(view, tree, number, over: StreamHoldings(bytes: bytes))
      }
    }
    return try requireSound(state, backend, bounds)
  }

  private func check(
    _ view: any DocumentView, _ tree: TreeID, _ newest: Int, over before: StreamHoldings
  ) throws {
    try require(newest > 0, .wrongData, "the number of the newest commit is \(newest)")
    let lane = Lane(tree: tree)
    let found = try StreamHoldings(view, tree, Self.group)
    var expected = before
    expected.commit(newest)
    let back = found.subtracting(expected)
    try require(back.isEmpty, .resurrected, "after commit \(newest) \(back) is there again")
    let gone = expected.subtracting(found)
    try require(
      gone.isEmpty || Self.isEvicting(newest), .lostAcknowledged,
      "after commit \(newest) \(gone) is gone, and nothing was evicted")
    try Self.checkNeeded(found, at: newest)
    let incidents = try view.incidents()
    try require(
      incidents.isEmpty, .silentLoss, "it reports damage where there was none: \(incidents)")

    let pins = try (max(1, newest - Self.pinned + 1)...newest).flatMap { try Self.pins($0, lane) }
    let heldPins = try view.pins(tree)
    try require(
      Set(heldPins) == Set(pins), .evictedPin,
      "after commit \(newest) the pins are \(heldPins), not \(pins)")
    let waiting = (1...newest).filter { Self.isWaiting($0, at: newest) }
    let writes = try view.entries(lane, after: nil, limit: .max)
    try require(
      try writes.map(\.payload) == waiting.map { try Self.batch($0).payload }
        && writes.map(\.id.rawValue) == waiting.map { UInt64($0 / 2) },
      .lostAcknowledged,
      "after commit \(newest) the writes \(writes.map(\.id)) wait, not those of \(waiting)")
    let indexes = try view.documentIndexes(tree).map(\.index)
    try require(
      indexes == (try self.indexes(at: newest)), .halfBatch,
      "after commit \(newest) the indexes are \(indexes)")
    try checkDocuments(view, lane, newest, found)
  }

  /// Requires that nothing is evicted that a query, a pin or a waiting write needs.
  private static func checkNeeded(_ found: StreamHoldings, at newest: Int) throws {
    for number in 1...newest {
      let isTracked = found.hasQuery(number)
      let isPinned = newest < number + pinned
      try require(
        isTracked || !isPinned || !hasPinnedQuery(number), .evictedPin,
        "the pinned query \(number) is gone after commit \(newest)")
      try require(
        !isPinned || !hasPinnedDocument(number) || found.has(number, single), .evictedPin,
        "the pinned document of \(number) is gone after commit \(newest)")
      try require(
        !isWaiting(number, at: newest) || found.has(number, written), .evictedPin,
        "the document that a write of \(number) needs is gone after commit \(newest)")
      try require(
        !isTracked || (0..<matched).allSatisfy { found.has(number, $0) }, .falseComplete,
        "query \(number) is there after commit \(newest), and not all that it matches")
    }
  }

  /// Requires that documents, queries and what queries find are right.
  private func checkDocuments(
    _ view: any DocumentView, _ lane: Lane, _ newest: Int, _ found: StreamHoldings
  ) throws {
    var shown: [Document] = []
    for number in 1...newest where found.hasAny(number) || number > newest - Self.pinned {
      for index in 0..<Self.documents {
        let path = try Self.path(number, index)
        let stored = try view.document(lane.tree, path)
        let expected =
          found.has(number, index)
          ? try Self.document(number, index, at: newest) : Document(path, .unseen)
        try require(
          stored == expected, .wrongData, "after commit \(newest) \(path) is \(stored)")
        let own = try view.document(lane, path)
        if own.fields != nil { shown.append(own) }
        if index == Self.written, Self.isWaiting(number, at: newest) {
          try require(
            own.fields?["k"] == .integer(Int64(number % 5 + 1)), .halfBatch,
            "what waits for \(path) is not shown")
        }
      }
      guard found.hasQuery(number) else { continue }
      let (id, query) = (QueryID(rawValue: UInt64(number)), try Self.query(number))
      try require(
        try view.trackedQuery(lane.tree, id) == tracked(number, lane, query), .wrongData,
        "query \(number) is not as it was saved")
      let matches = try (0..<Self.matched).map { try Self.path(number, $0) }
      try require(
        try view.matches(lane.tree, id) == matches, .falseComplete,
        "query \(number) matches something else after commit \(newest)")
    }
    let all = DocumentQuery(.group(Self.group), in: SeededRandom.database)
    var queries: [(query: DocumentQuery, id: QueryID?)] = [
      (try all.filtered(.field(FieldPath(unchecked: ["k"]), .equal, 2)), nil),
      (try all.filtered(.field(FieldPath(unchecked: ["tags"]), .arrayContains, 1)), nil),
    ]
    for number in max(1, newest - 2)...newest where found.hasQuery(number) {
      queries.append((try Self.query(number), QueryID(rawValue: UInt64(number))))
    }
    for (query, id) in queries {
      let answer = try view.query(lane, query, tracked: id)
      try require(
        answer.documents == query.evaluate(shown), .wrongData,
        "after commit \(newest) the query \(query.canonical) by \(answer.explanation.plan) gives "
          + "\(answer.documents.map(\.path)), not \(query.evaluate(shown).map(\.path))")
      if case .indexes = answer.explanation.plan {
        CheckRecord.current?.count(Self.indexedQueries)
      }
    }
  }

  /// The count of queries that were answered by an index.
  static let indexedQueries = "queries by an index"
}
