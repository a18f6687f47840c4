internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// A change of the tree of documents that does not yet name actual writes and queries.
///
/// Its seed and the state before it determine what it does, so a program stays valid when changes
/// are removed from it.
struct DocumentChange: Sendable, CustomStringConvertible {
  enum Kind: CaseIterable {
    case put
    case forget
    case enqueue
    case answer
    case reject
    case queueAgain
    case replace
    case purge
    case match
    case confirm
    case removeQuery
    case pin
    case unpin
    case index
  }

  /// The tree's name.
  static let tree = "documents"
  /// Users, of whom one's identity begins another's.
  static let identities = ["", "anna", "ann"]

  let kind: Kind
  let seed: UInt64

  var description: String { "\(kind)(\(seed))" }

  /// The edits for a store in the model's state; none when the change does not apply there.
  func edits(_ model: StorageModel) throws(StoreError) -> [StorageEdit] {
    guard let tree = model.documents else { return [] }
    var random = SeededRandom(seed: seed)
    let identity = random.pick(Self.identities)
    let lane = Lane(tree: tree.info.id, identity: identity)
    let shown = { (path: DocumentPath) in tree.documents.shown(path, tree.waiting(identity)) }
    func documents(_ edits: DocumentEdit...) -> StorageEdit { .documents(tree.info.id, edits) }
    switch kind {
    case .put:
      let count = Int.random(in: 1...4, using: &random)
      let newest = tree.documents.known.values.map(\.readTime).max()
      let edits = (0..<count).map { _ in
        DocumentEdit.put(random.document(after: random.one(in: 2) ? newest : nil))
      }
      return [.documents(tree.info.id, edits)]
    case .forget:
      let known = tree.documents.known.keys.sorted().randomElement(using: &random)
      return [documents(.forget(known ?? random.path()))]
    case .enqueue:
      let count = Int.random(in: 1...2, using: &random)
      return (0..<count).map { _ in .enqueue(lane, random.batch(over: shown).payload) }
    case .answer:
      let isRejected = random.one(in: 4)
      guard let id = tree.write(identity, isRejected: isRejected, &random) else { return [] }
      // One commit stores the answer and the server's new word of the document.
      return [
        .finish(lane, id, random.one(in: 3) ? .discarded : .acknowledged),
        documents(.put(random.document())),
      ]
    case .reject:
      guard let id = tree.write(identity, isRejected: false, &random) else { return [] }
      return [.setState(lane, id, .sent), .setState(lane, id, .rejected(reason: "no"))]
    case .queueAgain:
      guard let id = tree.write(identity, isRejected: true, &random) else { return [] }
      return [.setState(lane, id, .queued)]
    case .replace:
      let isRejected = random.one(in: 2)
      guard let id = tree.write(identity, isRejected: isRejected, &random) else { return [] }
      return [.replace(lane, id, random.batch(over: shown).payload)]
    case .purge: return [.purge(lane)]
    case .match: return tree.matching(random.pick(SeededRandom.trackedQueries), lane, &random)
    case .confirm: return tree.confirming(&random)
    case .removeQuery:
      let id = tree.queries.keys.sorted().randomElement(using: &random)
      return id.map { [.removeQuery(tree.info.id, $0)] } ?? []
    case .pin:
      guard let query = tree.queries.sorted(by: { $0.key < $1.key }).randomElement(using: &random)
      else { return [] }
      let pin = Pin(
        tree: tree.info.id, path: query.value.path, parameters: query.value.parameters)
      return [.pin(pin)]
    case .unpin: return tree.pins.randomElement(using: &random).map { [.unpin($0)] } ?? []
    case .index:
      let isMore = random.one(in: 3)
      return [documents(isMore ? .addIndexes(random.indexes()) : .setIndexes(random.indexes()))]
    }
  }
}

extension StorageModel {
  /// The tree of documents; nil when there is none.
  var documents: Tree? { trees.values.first { $0.info.order == .documents } }
}

extension StorageModel.Tree {
  fileprivate func write(
    _ identity: String, isRejected: Bool, _ random: inout SeededRandom
  ) -> WriteID? {
    (lanes[Bytes(identity.utf8)]?.writes ?? []).filter { $0.isRejected == isRejected }.map(\.id)
      .randomElement(using: &random)
  }

  /// Sets the matches of a tracked query, or tracks a new query and sets its matches.
  fileprivate func matching(
    _ query: DocumentQuery, _ lane: Lane, _ random: inout SeededRandom
  ) -> [StorageEdit] {
    let ids = queries.filter { DocumentKey.document($0.value.path) == nil }.keys.sorted()
    if random.one(in: 2), let id = ids.randomElement(using: &random), let known = queries[id] {
      return [matching(id, known, &random)]
    }
    let tracked = TrackedQuery(
      lane, query.target, isComplete: random.one(in: 2),
      lastUse: UInt64.random(in: 0..<100, using: &random),
      resumeToken: random.one(in: 2) ? [UInt8.random(in: 0...9, using: &random), 0] : [])
    if case .document = query.target.source { return [.saveQuery(tracked)] }
    let id = find(tracked) ?? QueryID(rawValue: lastQuery + 1)
    return [.saveQuery(tracked), matching(id, tracked, &random)]
  }

  private func matching(
    _ id: QueryID, _ query: TrackedQuery, _ random: inout SeededRandom
  ) -> StorageEdit {
    let known = documents.known.keys.filter { query.mayMatch($0) }
    let some = known.sorted().filter { _ in random.one(in: 2) }
    let removed = (documents.matches[id] ?? []).subtracting(some).sorted()
    let edit: DocumentEdit =
      random.one(in: 2)
      ? .setMatches(id, some) : .updateMatches(id, added: some, removed: removed)
    return .documents(info.id, [edit])
  }
}

extension StorageModel.Tree {
  /// A tracked query as it is asked, with its user; nil when no program tracks it.
  func asked(_ id: QueryID) -> (identity: String, query: DocumentQuery)? {
    // The parameters of one are the identity and the text of the target.
    let parts =
      queries[id]?.parameters.utf8
      .split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false) ?? []
    guard parts.count == 2, let query = SeededRandom.trackedByText[Bytes(parts[1])] else {
      return nil
    }
    return (String(decoding: parts[0], as: UTF8.self), query)
  }

  /// Says what a tracked query matches and as of when: all that it gives of what was read by then, maybe with more. Or
  /// says that nobody knows.
  fileprivate func confirming(_ random: inout SeededRandom) -> [StorageEdit] {
    guard let id = queries.keys.sorted().randomElement(using: &random), let tracked = queries[id],
      let query = asked(id)?.query, DocumentKey.document(tracked.path) == nil
    else { return [] }
    if random.one(in: 8) { return [.documents(info.id, [.setMatchesVersion(id, nil)])] }
    let times = documents.known.values.map(\.readTime).sorted()
    let time =
      switch Int.random(in: 0..<4, using: &random) {
      case 0: random.time()
      case 1: times.randomElement(using: &random) ?? .zero
      default: times.last ?? .zero
      }
    var matches = query.target.evaluate(documents.known.values.filter { $0.readTime <= time })
      .map(\.path)
    if random.one(in: 3) {
      matches += documents.known.keys.sorted()
        .filter { tracked.mayMatch($0) && random.one(in: 6) }
    }
    let version = MatchesVersion(query.source, at: time)
    return [.documents(info.id, [.setMatches(id, matches), .setMatchesVersion(id, version)])]
  }
}

extension SeededRandom {
  /// Changes of documents; kinds that change much are rare.
  ///
  /// - Parameter indexing: whether indexes are declared.
  mutating func documentChanges(indexing: Bool) -> [TreeProgram.Change] {
    let kinds: [DocumentChange.Kind] =
      Array(repeating: [.put, .enqueue], count: 8).flatMap(\.self)
      + Array(repeating: [.answer, .match, .confirm], count: 4).flatMap(\.self)
      + DocumentChange.Kind.allCases.filter { indexing || $0 != .index }
    return (0..<pick([1, 1, 2, 3])).map { _ in
      .documents(DocumentChange(kind: pick(kinds), seed: next()))
    }
  }
}
