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

  /// Requires that queries that a seed chooses give what they give over all documents that the model shows.
  func ask(_ seed: UInt64) throws {
    guard let documents else { return }
    var random = SeededRandom(seed: seed)
    let view = ModelView(model)
    for _ in 0..<4 {
      let lane = Lane(tree: documents, identity: random.pick(DocumentChange.identities))
      let query = random.query()
      let expected = try view.query(lane, query).documents
      let answer = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
        try view.query(lane, query)
      }
      try require(
        answer.documents == expected, .wrongData,
        "the query \(query.canonical) of \"\(lane.identity)\" by \(answer.explanation.plan) gives "
          + "\(answer.documents.map(\.path)), not \(expected.map(\.path))")
    }
  }

  /// Requires that an eviction took no document that a query, a pin or a waiting write needs, and left none that
  /// nothing needs; the model follows.
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
  /// Whether a query is of a single document with waiting writes: both stay.
  func isOfWrittenDocument(_ query: TrackedQuery) -> Bool {
    guard info.order == .documents, let document = DocumentKey.document(query.path) else {
      return false
    }
    return written.contains { $0 == document || ($0.isLong && document.isLong) }
  }

  /// The stored documents that a query, a pin or a waiting write needs.
  fileprivate var coveredDocuments: Set<DocumentPath> {
    func below(_ path: Path) -> [DocumentPath] {
      documents.known.keys.filter { path.contains(DocumentKey.treePath($0)) }
    }
    var covered = written
    for (id, query) in queries {
      let matches = documents.matches[id] ?? []
      covered.formUnion(matches.isEmpty ? Set(below(query.path)) : matches)
    }
    for pin in pins { covered.formUnion(below(pin.path)) }
    return covered.intersection(documents.known.keys)
  }
}

extension DocumentPath {
  /// Whether rows may hold only the beginning of it, which covers all that begins so.
  fileprivate var isLong: Bool { description.utf8.count > 100 }
}
