package import ConiferDocument
internal import ConiferKeyValue
package import ConiferStorage
internal import ConiferTree

extension StorageModel {
  /// What a tree of documents holds beside its queues and tracked queries.
  package struct Documents: Sendable {
    /// What the server said, by document.
    package var known: [DocumentPath: Document] = [:]
    /// By query, the documents that match.
    package var matches: [QueryID: Set<DocumentPath>] = [:]
    package var indexes: [DocumentIndex] = []

    init() {}
  }

  /// The writes that are rejected, by lane.
  var rejectedWrites: [Lane: Set<WriteID>] {
    var rejected: [Lane: Set<WriteID>] = [:]
    for (id, tree) in trees {
      for (identity, state) in tree.lanes {
        let lane = Lane(tree: id, identity: String(decoding: identity, as: UTF8.self))
        rejected[lane] = Set(state.writes.filter(\.isRejected).map(\.id))
      }
    }
    return rejected
  }

  /// Requires that the writes that edits queued, queued again or put in the place of others, and
  /// those that wait behind them, make no document larger than the service takes.
  ///
  /// - Parameters:
  ///   - new: the numbers of the queued writes.
  ///   - rejectedBefore: the writes that were rejected before the edits.
  func requireSizes(
    after edits: [StorageEdit], _ new: [WriteID], rejectedBefore: [Lane: Set<WriteID>]
  ) throws(StoreError) {
    var queued = new.makeIterator()
    var rejected = rejectedBefore
    var written: [Lane: Set<WriteID>] = [:]
    for edit in edits {
      switch edit {
      case .enqueue(let lane, _):
        if let id = queued.next() { written[lane, default: []].insert(id) }
      case .replace(let lane, let id, _): written[lane, default: []].insert(id)
      case .setState(let lane, let id, let state):
        if case .rejected = state {
          rejected[lane, default: []].insert(id)
        } else if rejected[lane]?.remove(id) != nil {
          written[lane, default: []].insert(id)
        }
      default: continue
      }
    }
    for (lane, ids) in written {
      guard let tree = trees[lane.tree], tree.info.order == .documents else { continue }
      let waiting = try self.lane(lane).writes.filter { !$0.isRejected }.compactMap { entry in
        MutationBatch(entry.payload).map { (entry.id, $0) }
      }
      for path in Set(waiting.filter { ids.contains($0.0) }.flatMap(\.1.paths)) {
        var shown = tree.documents.base(path)
        var isMeasured = false
        for (id, batch) in waiting where batch.paths.contains(path) {
          shown = batch.applied(to: shown)
          isMeasured = isMeasured || ids.contains(id)
          guard isMeasured, (try? shown.validateSize()) == nil else { continue }
          throw StoreError(.tooLarge, "\(path) becomes too large.")
        }
      }
    }
  }
}

extension StorageModel.Documents {
  /// What the server said of a document.
  package func base(_ path: DocumentPath) -> Document { known[path] ?? Document(path, .unseen) }

  /// A document with waiting writes.
  func shown(_ path: DocumentPath, _ waiting: [MutationBatch]) -> Document {
    waiting.reduce(base(path)) { $1.applied(to: $0) }
  }

  /// All documents of which something is known, with waiting writes.
  func shown(_ waiting: [MutationBatch]) -> [Document] {
    Set(known.keys).union(waiting.flatMap(\.paths)).sorted().map { shown($0, waiting) }
  }
}

extension StorageModel.Tree {
  /// The batches of a lane that wait, in their order.
  package func waiting(_ identity: String) -> [MutationBatch] {
    (lanes[Bytes(identity.utf8)]?.writes ?? []).filter { !$0.isRejected }
      .compactMap { MutationBatch($0.payload) }
  }

  /// The documents that waiting writes of any lane change.
  package var written: Set<DocumentPath> {
    Set(
      lanes.keys.flatMap { waiting(String(decoding: $0, as: UTF8.self)) }.flatMap(\.paths))
  }

  func requireNodes() throws(StoreError) {
    guard info.order == .documents else { return }
    throw StoreError(.invalid, "The tree holds documents.")
  }

  func requireDocuments() throws(StoreError) {
    guard info.order != .documents else { return }
    throw StoreError(.invalid, "The tree holds nodes.")
  }

  /// Refuses a write of one model in a tree of the other.
  func requireFit(_ payload: WritePayload) throws(StoreError) {
    if payload.kind == .documents { try requireDocuments() }
    if payload.kind == .tree { try requireNodes() }
    if let batch = MutationBatch(payload), (try? batch.validateSize()) == nil {
      throw StoreError(.tooLarge, "No request may have the batch.")
    }
  }

  mutating func apply(_ edit: DocumentEdit) throws(StoreError) {
    switch edit {
    case .put(let document):
      guard document.state != .unseen, document.writes != .pending else {
        throw StoreError(.invalid, "The server said no such thing.")
      }
      documents.known[document.path] = document
    case .forget(let path): documents.known[path] = nil
    case .setMatches(let id, let paths):
      try needQuery(id, over: paths)
      documents.matches[id] = Set(paths)
    case .updateMatches(let id, let added, let removed):
      try needQuery(id, over: added + removed)
      documents.matches[id, default: []].subtract(removed)
      documents.matches[id, default: []].formUnion(added)
    case .setMatchesVersion(let id, let version):
      try needQuery(id)
      guard let version else { return }
      let place: Path? =
        switch version.source {
        case .collection(let collection): DocumentKey.treePath(collection)
        case .group: .root
        case .document: nil
        }
      guard queries[id]?.path == place else {
        throw StoreError(.invalid, "The query reads something else.")
      }
    case .setIndexes(let indexes):
      documents.indexes = []
      declare(indexes)
    case .addIndexes(let indexes): declare(indexes)
    }
  }

  private mutating func declare(_ indexes: [DocumentIndex]) {
    for index in indexes where !documents.indexes.contains(index) {
      documents.indexes.append(index)
    }
  }

  private func needQuery(_ id: QueryID, over paths: [DocumentPath]) throws(StoreError) {
    try needQuery(id)
    guard let query = queries[id], paths.allSatisfy({ query.mayMatch($0) }) else {
      throw StoreError(.invalid, "The query does not read these documents.")
    }
  }
}
