internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage

/// A backend's tree of documents beside the model: both get the same commits and must show the same.
final class DocumentPair {
  private static let identities = ["", "anna", "ann"]

  let fixture: BackendFixture
  private(set) var backend: any DocumentBackend
  private(set) var tree: TreeID
  var model = DocumentModel()

  init(_ fixture: BackendFixture) async throws {
    self.fixture = fixture
    backend = try fixture.open().keepingDocuments()
    tree = try await backend.tree(named: "documents", order: .documents)
  }

  /// The copy of another pair's documents in a backend.
  init(_ fixture: BackendFixture, copying other: DocumentPair, in copy: any StorageBackend)
    async throws
  {
    self.fixture = fixture
    backend = try copy.keepingDocuments()
    tree = try await copy.tree(named: "documents", order: .documents)
    model = other.model
  }

  func lane(_ identity: String) -> Lane { Lane(tree: tree, identity: identity) }

  func reopen() async throws {
    guard fixture.factory.declared.isPersistent else { return }
    try await backend.close()
    backend = try fixture.open().keepingDocuments()
    let found = try await backend.tree(named: "documents", order: .documents)
    try require(found == tree, "the tree changed its number")
  }

  // MARK: Steps

  func run(_ step: DocumentProgram.Step) async throws {
    var random = SeededRandom(seed: step.seed)
    let identity = random.pick(Self.identities)
    let lane = lane(identity)
    switch step.kind {
    case .put:
      let documents = (0..<Int.random(in: 1...4, using: &random)).map { _ in random.document() }
      try await backend.commit([.documents(tree, documents.map { .put($0) })])
      for document in documents { model.bases[document.path] = document }
    case .forget:
      let path = model.bases.keys.sorted().randomElement(using: &random) ?? random.path()
      try await backend.commit([.documents(tree, [.forget(path)])])
      model.bases[path] = nil
    case .enqueue:
      let model = model
      let batches = (0..<Int.random(in: 1...2, using: &random)).map { _ in
        random.batch { model.shown(identity, $0) }
      }
      let receipt = try await backend.commit(batches.map { .enqueue(lane, $0.payload) })
      try requireEqual(receipt.writes.count, batches.count, "the numbers of queued writes")
      for (id, batch) in zip(receipt.writes, batches) {
        self.model.lanes[identity, default: [:]][id] = DocumentModel.Write(batch: batch)
      }
    case .answer:
      guard let id = write(identity, isRejected: random.one(in: 4), &random) else { return }
      // With the answer the server's word of a document comes, in one commit.
      let document = random.document()
      try await backend.commit([
        .finish(lane, id, random.one(in: 3) ? .discarded : .acknowledged),
        .documents(tree, [.put(document)]),
      ])
      model.lanes[identity]?[id] = nil
      model.bases[document.path] = document
    case .reject:
      guard let id = write(identity, isRejected: false, &random) else { return }
      try await backend.commit([
        .setState(lane, id, .sent), .setState(lane, id, .rejected(reason: "no")),
      ])
      model.lanes[identity]?[id]?.isRejected = true
    case .queueAgain:
      guard let id = write(identity, isRejected: true, &random) else { return }
      try await backend.commit([.setState(lane, id, .queued)])
      model.lanes[identity]?[id]?.isRejected = false
    case .replace:
      guard let id = write(identity, isRejected: random.one(in: 2), &random) else { return }
      let model = model
      let batch = random.batch { model.shown(identity, $0) }
      try await backend.commit([.replace(lane, id, batch.payload)])
      self.model.lanes[identity]?[id] = DocumentModel.Write(batch: batch)
    case .purge:
      try await backend.commit([.purge(lane)])
      model.lanes[identity] = nil
    case .match: try await match(lane, &random)
    case .index:
      // An encrypted store keeps none.
      if backend.traits.isEncrypted { return }
      // What the commits since made of the indexes that go.
      try requireSound()
      try await backend.commit([.documents(tree, [.setIndexes(random.indexes())])])
    case .query: for _ in 0..<4 { try requireAnswer(identity, random.query()) }
    case .reopen: try await reopen()
    case .tidy: while try await backend.tidy(.milliseconds(50)) {}
    }
  }

  private func write(
    _ identity: String, isRejected: Bool, _ random: inout SeededRandom
  ) -> WriteID? {
    (model.lanes[identity] ?? [:]).filter { $0.value.isRejected == isRejected }.keys.sorted()
      .randomElement(using: &random)
  }

  /// Tracks a query and says what it matches.
  private func match(_ lane: Lane, _ random: inout SeededRandom) async throws {
    let query = random.query()
    let receipt = try await backend.commit([.saveQuery(TrackedQuery(lane, query.target))])
    guard let id = receipt.queries.first else {
      throw ConformanceFailure("the receipt has no number of a saved query")
    }
    if case .document = query.target.source { return }
    let source = DocumentQuery(query.target.source, in: query.database).target
    let known = model.bases.values.filter { source.matches($0) }.map(\.path).sorted()
    let some = known.filter { _ in random.one(in: 2) }
    if random.one(in: 2) {
      try await backend.commit([.documents(tree, [.setMatches(id, some)])])
      model.matches[id] = Set(some)
    } else {
      let removed = (model.matches[id] ?? []).filter { !some.contains($0) }.sorted()
      try await backend.commit([
        .documents(tree, [.updateMatches(id, added: some, removed: removed)])
      ])
      model.matches[id, default: []].formUnion(some)
      model.matches[id]?.subtract(removed)
    }
  }

  // MARK: Comparing

  /// Requires that a query gives what it gives over all documents that the model shows.
  func requireAnswer(_ identity: String, _ query: DocumentQuery) throws {
    let lane = lane(identity)
    let answer = try backend.readDocuments { (view) throws(StoreError) in
      try view.query(lane, query)
    }
    let expected = query.evaluate(model.shown(identity))
    guard answer.documents != expected else { return }
    throw ConformanceFailure(
      .wrongData,
      "the query \(query.canonical) of \"\(identity)\" by \(answer.explanation.plan) gives "
        + "\(answer.documents.map(\.path)), not \(expected.map(\.path))")
  }

  /// Requires that the backend shows what the model does: the server's word, each user's documents, collections,
  /// matches.
  func requireSame() throws {
    let (model, tree) = (model, tree)
    let lanes = Self.identities.map { lane($0) }
    let failure = try backend.readDocuments { (view) throws(StoreError) -> String? in
      let known = Set(model.bases.keys)
        .union(model.lanes.values.flatMap { $0.values.flatMap { $0.batch.mutations.map(\.path) } })
      for path in known.sorted() {
        let base = try view.document(tree, path)
        if base != model.bases[path] ?? Document(path, .unseen) {
          return
            "the server's word of \(path) is \(base), not \(String(describing: model.bases[path]))"
        }
        for lane in lanes {
          let (shown, expected) = (
            try view.document(lane, path), model.shown(lane.identity, path)
          )
          if shown != expected {
            return "\"\(lane.identity)\" sees \(shown), not \(expected)"
          }
        }
      }
      let collections = try view.collections(tree, after: nil, limit: .max)
      let expected = Set(model.bases.keys.map(\.collection))
      if Set(collections) != expected || collections.count != expected.count {
        return "the collections are \(collections), not \(expected)"
      }
      for collection in collections {
        var documents: [Document] = []
        while true {
          let some = try view.documents(tree, in: collection, after: documents.last?.path, limit: 3)
          documents += some
          if some.isEmpty { break }
        }
        let expected = model.bases.values.filter { collection.contains($0.path) }
          .sorted { $0.path < $1.path }
        if documents != expected {
          return "\(collection) holds \(documents.map(\.path)), not \(expected.map(\.path))"
        }
      }
      for (id, paths) in model.matches {
        let found = try view.matches(tree, id)
        if found != paths.sorted() {
          return "query \(id.rawValue) matches \(found), not \(paths.sorted())"
        }
      }
      return nil
    }
    if let failure { throw ConformanceFailure(.wrongData, failure) }
  }

  /// Requires that `verify` finds nothing wrong, where the backend has it.
  func requireSound() throws {
    guard let verifying = backend as? any VerifyingBackend else { return }
    let report = try verifying.verify()
    guard let first = report.findings.first else { return }
    throw ConformanceFailure(
      "the store is not sound, \(report.found) findings; the first: \(first)")
  }
}
