internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// A tree of documents in both.
extension ModelPair {
  /// Makes the tree of documents.
  @discardableResult
  func makeDocuments() async throws -> TreeID {
    let tree = try await makeTree(DocumentChange.tree, .documents)
    documents = tree
    return tree
  }

  /// Wipes the tree of documents and makes it anew.
  func wipeDocuments() async throws {
    guard let documents else { return }
    try await commit(.wipe(documents))
    try await makeDocuments()
  }

  /// Requires that queries that a seed chooses give what they give over all documents that the model shows: new ones,
  /// tracked ones by their numbers, and some that the indexes serve.
  func ask(_ seed: UInt64) async throws {
    guard let documents, let tree = model.trees[documents] else { return }
    // Half of the questions are asked when all indexes are built.
    if seed % 2 == 0 { try await finishIndexes() }
    var random = SeededRandom(seed: seed)
    let known = tree.documents.known.values.sorted { $0.path < $1.path }
    let view = ModelView(model)
    for number in 0..<12 {
      var identity = random.pick(DocumentChange.identities)
      var query = random.query(over: known)
      var id: QueryID?
      let picked = tree.queries.keys.sorted().randomElement(using: &random)
      if number >= 8 {
        guard let served = random.query(servedBy: tree.documents.indexes, over: known) else {
          break
        }
        query = served
      } else if random.one(in: 2), let picked, let tracked = tree.asked(picked) {
        (id, query) = (picked, tracked.query)
        // What nobody has saved everybody may ask.
        if !tracked.identity.isEmpty { identity = tracked.identity }
      }
      let lane = Lane(tree: documents, identity: identity)
      let expected = try view.query(lane, query, tracked: id).documents
      let (answer, indexes) = try backend.keepingDocuments().readDocuments {
        (view) throws(StoreError) in
        (try view.query(lane, query, tracked: id), try view.documentIndexes(documents))
      }
      if answer.explanation.plan == .matches { CheckRecord.current?.count("answers from matches") }
      ServedQuery.count(query, answer.explanation, indexes)
      try require(
        answer.documents == expected, .wrongData,
        "the query \(query.canonical) of \"\(lane.identity)\" by \(answer.explanation.plan) gives "
          + "\(answer.documents.map(\.path)), not \(expected.map(\.path))")
    }
  }

  /// Requires that an eviction removed no document that a query, a pin or a waiting write needs,
  /// and left none that nothing needs. The model is updated.
  func adoptDocuments(_ report: EvictionReport) throws {
    guard let documents, let tree = model.trees[documents] else { return }
    let known = Set(tree.documents.known.keys)
    let left = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      var left: Set<DocumentPath> = []
      for collection in try view.collections(documents, after: nil, limit: .max) {
        left.formUnion(
          try view.documents(documents, in: collection, after: nil, limit: .max).map(\.path))
      }
      return left
    }
    try require(
      left.isSubset(of: known), .resurrected, "an eviction brought \(left.subtracting(known))")
    let lost = tree.coveredDocuments.subtracting(left)
    let written = lost.intersection(tree.written)
    try require(written.isEmpty, .evictedPin, "\(written) went, and waiting writes need them")
    try require(lost.isEmpty, .falseComplete, "\(lost) went, and queries need them")
    if !report.queries.isEmpty || !report.isMet {
      let idle = left.subtracting(tree.coveredDocuments).filter { !$0.isLong }
      try require(idle.isEmpty, "\(idle) are left, and nothing needs them")
    }
    for path in known.subtracting(left) { model.trees[documents]?.documents.known[path] = nil }
  }
}

extension StorageModel.Tree {
  /// Whether a pin protects a query, or protects the document if the query is of a single document.
  func isKept(_ query: TrackedQuery) -> Bool {
    guard info.order == .documents else { return isPinned(query.path) }
    if pins.contains(where: { $0.isOf(query) }) { return true }
    guard let document = DocumentKey.document(query.path) else { return false }
    return heldDocuments.contains { $0 == document || ($0.isLong && document.isLong) }
  }

  /// The stored documents that a query, a pin or a waiting write needs.
  fileprivate var coveredDocuments: Set<DocumentPath> {
    documents.matches.reduce(heldDocuments) { $0.union($1.value) }
      .intersection(documents.known.keys)
  }

  /// The documents that a pin or a waiting write needs.
  private var heldDocuments: Set<DocumentPath> {
    var held = written
    for pin in pins where pin.parameters == TrackedQuery.defaultParameters {
      held.formUnion(
        documents.known.keys.filter { pin.path.contains(DocumentKey.treePath($0)) })
    }
    for (id, query) in queries where pins.contains(where: { $0.isOf(query) }) {
      held.formUnion(documents.matches[id] ?? [])
    }
    return held
  }
}

extension Pin {
  /// Whether the pin is on this query of documents, or on everything below a path above it.
  fileprivate func isOf(_ query: TrackedQuery) -> Bool {
    parameters == TrackedQuery.defaultParameters
      ? path.contains(query.path)
      : path == query.path && parameters.sameBytes(query.parameters)
  }
}

extension DocumentPath {
  /// Whether rows may cut the path; a cut path covers all paths with the same beginning.
  fileprivate var isLong: Bool { description.utf8.count > 100 }
}
