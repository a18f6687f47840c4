internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Collections of documents that stream through a cache, from which is evicted and in which indexes are built along the
/// way.
///
/// Each commit brings a collection, and a query that matches some of its documents; some queries are pinned, and some
/// documents have waiting writes. What a crash leaves of an eviction or of an index is not known: whatever it is, queries
/// that are there have their documents, nothing that is pinned or waits is gone, and a query finds what is there.
struct DocumentStream: CrashWorkload {
  /// The strongest durability of a commit.
  let strongest: Durability
  /// Whether indexes are declared.
  let indexing: Bool

  let words = "a stream of documents"
  let callers = 1

  private static let metadata = "stream"
  private static let group = "docs"
  /// How many documents a collection has, and how many of them its query matches. The last one is written to.
  private static let documents = 6
  private static let matched = 4
  /// A write waits until so many more commits were made.
  private static let patience = 8

  /// A stream for backends of a kind; nil where it does not evict, or keeps no documents.
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

  /// What the server said of a document.
  private static func document(_ number: Int, _ index: Int) throws -> Document {
    var random = SeededRandom(seed: UInt64(number * documents + index))
    let text = random.noise(number % 7 == 0 && index == 0 ? 6000 : 120).leaf
    let fields: [(String, DocumentValue)] = [
      ("k", .integer(Int64(number % 5))),
      ("tags", .array([.integer(Int64(index)), .integer(Int64(number % 3))])),
      ("text", .string(text.map { "\($0)" } ?? "")),
    ]
    return Document(try path(number, index), .found(MapValue(fields)))
  }

  private static func query(_ tree: TreeID, _ number: Int) throws -> DocumentTarget {
    DocumentQuery(.collection(try collection(number)), in: SeededRandom.database).target
  }

  private static func isPinned(_ number: Int) -> Bool { number % 6 == 0 }
  /// Whether a write to the collection's last document is queued with it: the one with half its number.
  private static func isWritten(_ number: Int) -> Bool { number % 2 == 0 }

  private static func isWaiting(_ number: Int, after newest: Int) -> Bool {
    isWritten(number) && number <= newest && newest < number + patience
  }

  private static func batch(_ number: Int) throws -> MutationBatch {
    let last = documents - 1
    let base = try document(number, last)
    let write = try ConiferDocument.Mutation.merge(
      path(number, last), [("k", .value(.integer(Int64(number % 5 + 1))))],
      in: SeededRandom.database)
    return MutationBatch([write], written: .zero) { _ in base }
  }

  private func edits(_ number: Int, _ tree: TreeID) throws -> [StorageEdit] {
    let lane = Lane(tree: tree)
    let target = try Self.query(tree, number)
    let id = QueryID(rawValue: UInt64(number))
    let matches = try (0..<Self.matched).map { try Self.path(number, $0) }
    var documents = try (0..<Self.documents).map {
      DocumentEdit.put(try Self.document(number, $0))
    }
    documents.append(.setMatches(id, matches))
    if indexing, number % 10 == 3 {
      let field: DocumentIndex.Field =
        number % 20 == 3
        ? .init(FieldPath(unchecked: ["k"])) : .init(FieldPath(unchecked: ["tags"]), .contains)
      documents.append(.setIndexes([try DocumentIndex(Self.group, [field], scope: .group)]))
    }
    var edits: [StorageEdit] = [
      .saveQuery(TrackedQuery(lane, target, lastUse: UInt64(number))),
      .documents(tree, documents), .setMetadata(tree, Self.metadata, key(number)),
    ]
    if Self.isPinned(number) { edits.append(.pin(Pin(lane, target))) }
    if Self.isWritten(number) {
      edits.append(.enqueue(lane, try Self.batch(number).payload))
      let old = number - Self.patience
      if old > 0 { edits.append(.finish(lane, WriteID(rawValue: UInt64(old / 2)), .acknowledged)) }
    }
    return edits
  }

  // MARK: Writing

  func run(
    on backend: any StorageBackend, after held: [Int], _ count: Int, isDurable: Bool,
    issue: @escaping @Sendable (Int, Int) -> Void,
    acknowledge: @escaping @Sendable (Int, Int, Int, Durability) -> Void
  ) async throws {
    let tree = try await backend.tree(named: DocumentChange.tree, order: .documents)
    let first = (held.first ?? 0) + 1
    for number in first..<(first + count) {
      let durability = isDurable ? strongest : durability(number)
      let edits = try edits(number, tree)
      issue(0, number)
      _ = try await backend.commit(edits, durability)
      acknowledge(0, number, number, durability)
      if number % 5 == 2 { try await evictHalf(of: backend) }
      if number % 5 == 1 || number % 5 == 4 { _ = try await backend.tidy(.milliseconds(5)) }
    }
  }

  private func durability(_ number: Int) -> Durability {
    var random = SeededRandom(seed: UInt64(number))
    _ = random.next()
    return random.pick(Durability.allCases.filter { $0 <= strongest })
  }

  private func evictHalf(of backend: any StorageBackend) async throws {
    let evicting = try backend.evicting()
    _ = try await evicting.evict(to: try evicting.space().cache / 2, dryRun: false)
  }

  // MARK: Checking

  func held(by backend: any StorageBackend, _ bounds: CrashBounds?) throws -> [Int] {
    let (number, failure) = try backend.keepingDocuments().readDocuments {
      (view) throws(StoreError) -> (Int, ConformanceFailure?) in
      guard let tree = try view.trees().first(where: { $0.name == DocumentChange.tree })?.id,
        let bytes = try view.metadata(tree, Self.metadata)
      else { return (0, nil) }
      let number = bytes.reduce(0) { $0 << 8 | Int($1) }
      do {
        try Self.check(view, tree, number)
        return (number, nil)
      } catch let error as StoreError {
        throw error
      } catch {
        return (number, error as? ConformanceFailure ?? ConformanceFailure("\(error)"))
      }
    }
    try bounds?.require([number], of: words)
    if let failure { throw failure }
    try backend.requireExactUsage()
    try backend.requireSound()
    return [number]
  }

  private static func check(
    _ view: any DocumentView, _ tree: TreeID, _ newest: Int
  ) throws {
    guard newest > 0 else { return }
    let lane = Lane(tree: tree)
    let waiting = (1...newest).filter { isWaiting($0, after: newest) }
    let writes = try view.entries(lane, after: nil, limit: .max).map(\.id.rawValue)
    try require(
      writes == waiting.map { UInt64($0 / 2) }, .halfBatch,
      "after commit \(newest) writes \(writes) wait, not those of \(waiting)")
    let tracked = Set(
      try view.trackedQueries(tree, after: nil, limit: .max).map { Int($0.id.rawValue) })
    try require(
      tracked.allSatisfy { $0 <= newest }, .phantom,
      "a query of a commit after \(newest) is there")
    var shown: [DocumentPath: Document] = [:]
    for number in 1...newest {
      for index in 0..<documents {
        let path = try path(number, index)
        let expected = try document(number, index)
        let found = try view.document(tree, path)
        let isNeeded =
          index < matched && (tracked.contains(number) || isPinned(number))
          || index == documents - 1 && isWaiting(number, after: newest)
        try require(
          found == expected || !isNeeded && found == Document(path, .unseen),
          isNeeded ? .evictedPin : .wrongData,
          "after commit \(newest) \(path) is \(found.state)")
        let own = try view.document(lane, path)
        if own.fields != nil { shown[path] = own }
      }
      if tracked.contains(number) {
        let matches = try view.matches(tree, QueryID(rawValue: UInt64(number)))
        try require(
          matches == (try (0..<matched).map { try path(number, $0) }), .falseComplete,
          "query \(number) matches \(matches)")
      }
      try require(
        !isPinned(number) || tracked.contains(number), .evictedPin,
        "the pinned query \(number) is gone after commit \(newest)")
      guard isWaiting(number, after: newest) else { continue }
      let last = try path(number, documents - 1)
      try require(
        shown[last]?.fields?["k"] == .integer(Int64(number % 5 + 1)), .halfBatch,
        "what waits for \(last) is not shown")
    }
    try ask(view, lane, shown.values.sorted { $0.path < $1.path })
  }

  /// Requires that queries find all documents that are there, by an index that is built in part, or was, or by none.
  private static func ask(
    _ view: any DocumentView, _ lane: Lane, _ shown: [Document]
  ) throws {
    let all = DocumentQuery(.group(group), in: SeededRandom.database)
    let queries = [
      try all.filtered(.field(FieldPath(unchecked: ["k"]), .equal, 2)),
      try all.filtered(.field(FieldPath(unchecked: ["tags"]), .arrayContains, 1)),
    ]
    for query in queries {
      let answer = try view.query(lane, query)
      let expected = query.target.evaluate(shown)
      try require(
        answer.documents.map(\.path) == expected.map(\.path), .wrongData,
        "the query \(query.canonical) by \(answer.explanation.plan) gives "
          + "\(answer.documents.count) documents, not \(expected.count)")
    }
  }
}
