package import ConiferDocument
import ConiferDocumentSync
package import ConiferKeyValue
import ConiferStorage

/// How far the cache has forgotten the documents of a source.
package struct ClearedDocuments: Sendable {
  /// Behind what it goes on.
  package struct Position: Sendable {
    let collection: CollectionPath
    /// The last document; nil when the next collection follows.
    let document: DocumentPath?
  }

  /// The commit of this part; nil when there was nothing to forget.
  package let commit: CommitID?
  /// Nil at the end.
  package let next: Position?
}

/// Forgets cached documents that nothing uses, in parts between which the engine does other steps.
struct DocumentClearing {
  let store: DocumentStore
  let listening: Listening
  let bundles: Bundles

  /// How many documents a part has at most.
  static let partSize = 512
  /// How often a part is tried: a query may be evicted between being found and being changed.
  private static let attempts = 8

  /// Forgets the next documents of a source, and of queries which matched any that they are known.
  ///
  /// - Parameter position: where it goes on; nil at the beginning.
  /// - Throws: `failedPrecondition` while something has any document of the source, and what the storage does.
  func clear(
    _ source: DocumentQuery.Source, after position: ClearedDocuments.Position?
  ) throws(FirestoreError) -> ClearedDocuments {
    guard store.lane != nil else { throw store.error }
    if let query = listening.listens.user(of: source) {
      throw inUse(source, "\(query.source.text) is listened to")
    }
    guard !bundles.isLoading else {
      throw FirestoreError(
        .failedPrecondition,
        "\(source.text) is not forgotten: a bundle is being loaded. Call it again once that is done."
      )
    }
    let kept = try reading(source) { () throws(StoreError) in
      position == nil ? try placeKept(of: source) : nil
    }
    if let kept { throw inUse(source, "\(kept) is kept synced") }
    return try reading(source) { () throws(StoreError) in
      var attempt = 1
      while true {
        do throws(StoreError) {
          return try clearPart(of: source, after: position)
        } catch {
          guard error.code == .invalid, attempt < Self.attempts else { throw error }
          attempt += 1
        }
      }
    }
  }

  private func reading<R>(
    _ source: DocumentQuery.Source, _ body: () throws(StoreError) -> R
  ) throws(FirestoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      throw FirestoreError(error, "\(source.text) is not forgotten")
    }
  }

  private func inUse(_ source: DocumentQuery.Source, _ why: String) -> FirestoreError {
    FirestoreError(
      .failedPrecondition,
      "\(source.text) is not forgotten: \(why). End the listeners there and call keepSynced(false); then call it "
        + "again.")
  }

  /// Where a query looks that is kept synced and has a document of a source; nil for none. Those that are listened to
  /// have no document of it here.
  private func placeKept(of source: DocumentQuery.Source) throws(StoreError) -> String? {
    try store.read { (view, lane) throws(StoreError) in
      for pin in try view.pins(lane.tree) {
        guard let stored = try view.trackedQuery(lane.tree, pin.path, pin.parameters) else {
          continue
        }
        if try view.matches(lane.tree, stored.id).contains(where: source.contains) {
          return "\(pin.path)"
        }
      }
      return nil
    }
  }

  private func clearPart(
    of source: DocumentQuery.Source, after position: ClearedDocuments.Position?
  ) throws(StoreError) -> ClearedDocuments {
    let (part, edits) = try store.read { (view, lane) throws(StoreError) in
      let part = try next(of: source, after: position, view, lane.tree)
      return (part, try forgetting(part.documents, of: source, view, lane.tree))
    }
    let commit = edits.isEmpty ? nil : try store.commit(edits).commit
    return ClearedDocuments(commit: commit, next: part.next)
  }

  // MARK: Documents

  private typealias Part = (documents: [DocumentPath], next: ClearedDocuments.Position?)

  /// The next documents of which the cache holds something.
  private func next(
    of source: DocumentQuery.Source, after position: ClearedDocuments.Position?,
    _ view: any DocumentView, _ tree: TreeID
  ) throws(StoreError) -> Part {
    switch source {
    case .document(let path):
      let isKnown = try view.document(tree, path).state != .unseen
      return (isKnown ? [path] : [], nil)
    case .collection(let collection):
      return try next(of: collection, after: position?.document, view, tree)
    case .group(let id):
      if let position, position.document != nil {
        let rest = try next(of: position.collection, after: position.document, view, tree)
        return (rest.documents, rest.next ?? .init(collection: position.collection, document: nil))
      }
      guard let found = try collection(of: id, after: position?.collection, view, tree) else {
        return ([], nil)
      }
      let first = try next(of: found, after: nil, view, tree)
      return (first.documents, first.next ?? .init(collection: found, document: nil))
    }
  }

  private func next(
    of collection: CollectionPath, after last: DocumentPath?, _ view: any DocumentView,
    _ tree: TreeID
  ) throws(StoreError) -> Part {
    let documents = try view.documents(tree, in: collection, after: last, limit: Self.partSize)
    let isEnd = documents.count < Self.partSize
    let next = documents.last.map {
      ClearedDocuments.Position(collection: collection, document: $0.path)
    }
    return (documents.map(\.path), isEnd ? nil : next)
  }

  /// The next collection with an id of which something is stored.
  private func collection(
    of id: String, after last: CollectionPath?, _ view: any DocumentView, _ tree: TreeID
  ) throws(StoreError) -> CollectionPath? {
    var last = last
    while true {
      let page = try view.collections(tree, after: last, limit: 256)
      if let found = page.first(where: { $0.id.utf8.elementsEqual(id.utf8) }) { return found }
      guard page.count == 256 else { return nil }
      last = page.last
    }
  }

  // MARK: Queries

  /// The edits that forget documents, the records of queries that read this source alone, and what the server said of
  /// others that matched one of them: it is asked again for all that they give.
  private func forgetting(
    _ documents: [DocumentPath], of source: DocumentQuery.Source, _ view: any DocumentView,
    _ tree: TreeID
  ) throws(StoreError) -> [StorageEdit] {
    let listened = Set(listening.targets.rows.values.map(\.query))
    let forgotten = Set(documents)
    var edits: [StorageEdit] = []
    var documentEdits = documents.map { DocumentEdit.forget($0) }
    var last: QueryID?
    while true {
      let page = try view.trackedQueries(tree, after: last, limit: 64)
      for stored in page where !listened.contains(stored.id) {
        if stored.query.isWithin(source) {
          edits.append(.removeQuery(tree, stored.id))
          continue
        }
        guard documents.contains(where: stored.query.mayMatch) else { continue }
        let lost = try view.matches(tree, stored.id).filter(forgotten.contains)
        guard !lost.isEmpty else { continue }
        var query = stored.query
        (query.isComplete, query.resumeToken) = (false, [])
        edits.append(.saveQuery(query))
        // A bundle that lost a document is taken in again when it is loaded again.
        if let bundle = BundleLoad.bundle(of: query) {
          edits.append(
            .setMetadata(tree, MetadataName.bundle(bundle), SnapshotVersion.bytes(.zero)))
        }
        documentEdits.append(.updateMatches(stored.id, added: [], removed: lost))
      }
      guard page.count == 64 else { break }
      last = page.last?.id
    }
    if !documentEdits.isEmpty { edits.append(.documents(tree, documentEdits)) }
    return edits
  }
}

extension DocumentQuery.Source {
  /// The place in words, as a message has it.
  fileprivate var text: String {
    switch self {
    case .collection(let collection): "\(collection)"
    case .document(let document): "\(document)"
    case .group(let id): "the collections \(id)"
    }
  }
}

// MARK: - What the app asks for

extension FirestoreEngine {
  /// Forgets the next of a source's documents, unless something uses one of them.
  package func clear(
    _ source: DocumentQuery.Source, after position: ClearedDocuments.Position?
  ) async throws(FirestoreError) -> ClearedDocuments {
    let cleared = await ask { loop in
      Result { () throws(FirestoreError) in
        try DocumentClearing(store: loop.store, listening: loop.listening, bundles: loop.bundles)
          .clear(source, after: position)
      }
    }
    return try cleared.get()
  }
}
