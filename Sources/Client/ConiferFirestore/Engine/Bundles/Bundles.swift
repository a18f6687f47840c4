import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire

/// Takes in bundles: documents go into the cache as if the server had sent them, and queries are kept by their names.
struct Bundles {
  let store: DocumentStore
  let listening: Listening
  let outbox: Outbox

  // MARK: Loading

  /// Takes in a bundle, and tells how far that has come.
  func load(
    _ bytes: [UInt8],
    _ told: @escaping @Sendable (Result<BundleProgress, FirestoreError>) -> Void
  ) {
    do throws(FirestoreError) {
      guard store.lane != nil else { throw store.error }
      try take(bytes) { progress in outbox.addCall { told(.success(progress)) } }
    } catch {
      outbox.addCall { told(.failure(error)) }
    }
  }

  private func take(_ bytes: [UInt8], _ told: (BundleProgress) -> Void) throws(FirestoreError) {
    var content = try reading { () throws(StatusError) in
      try BundleContent(of: bytes, in: store.database, before: latestTime)
    }
    let metadata = content.metadata
    let isOld = try storing { () throws(StoreError) -> Bool in try isKnown(metadata) }
    if isOld { return told(metadata.done) }
    told(metadata.progress(0, 0))
    while let progress = try reading({ () throws(StatusError) in try content.readNext() }) {
      // The last one is told when all is stored.
      if progress.documents < metadata.documents { told(progress) }
    }
    try storing { [content] () throws(StoreError) in try add(content) }
    told(metadata.done)
  }

  /// A day after now, as the device's clock has it or the server was heard last.
  private var latestTime: ConiferDocument.Timestamp {
    let clock = try? ConiferDocument.Timestamp(
      microseconds: listening.setup.clock.wallTime * 1000)
    let now = max(clock ?? .zero, listening.events.newest)
    return (try? ConiferDocument.Timestamp(seconds: now.seconds + 86_400)) ?? now
  }

  private func reading<R>(_ body: () throws(StatusError) -> R) throws(FirestoreError) -> R {
    do throws(StatusError) { return try body() } catch { throw FirestoreError(error) }
  }

  private func storing<R>(_ body: () throws(StoreError) -> R) throws(FirestoreError) -> R {
    do throws(StoreError) { return try body() } catch {
      throw FirestoreError(error, "The bundle was not taken in")
    }
  }

  // MARK: The store

  /// Whether the store has this version of a bundle, or a newer one.
  private func isKnown(_ metadata: BundleElement.Metadata) throws(StoreError) -> Bool {
    let stored = try store.read { (view, lane) throws(StoreError) in
      try view.metadata(lane.tree, MetadataName.bundle(metadata.id))
    }
    return stored.map { SnapshotVersion.time($0) >= metadata.createTime } ?? false
  }

  /// Stores a bundle: first the tracked queries that hold its documents, then all else in one commit.
  private func add(_ content: BundleContent) throws(StoreError) {
    let paths = content.documents.keys.sorted()
    var edits: [StorageEdit] = []
    var documents = try store.read { (view, lane) throws(StoreError) in
      var puts: [DocumentEdit] = []
      for path in paths {
        guard let document = content.documents[path],
          try view.document(lane.tree, path).isReplaced(by: document)
        else { continue }
        puts.append(.put(document))
      }
      return puts
    }
    let umbrella = try store.commit([
      .saveQuery(TrackedQuery(store.sharedLane, umbrella(content.metadata.id)))
    ])
    if let id = umbrella.queries.first { documents.append(.setMatches(id, paths)) }
    for query in content.queries {
      let matches = content.matches[query.name]?.sorted() ?? []
      if let edit = try listening.targets.seed(query.query.target, query.readTime, matches) {
        edits.append(edit.save)
        documents.append(edit.matches)
      }
      edits.append(.setMetadata(store.tree, MetadataName.query(query.name), query.query.json))
    }
    edits.append(
      .setMetadata(
        store.tree, MetadataName.bundle(content.metadata.id),
        SnapshotVersion.bytes(content.metadata.createTime)))
    edits.append(.documents(store.tree, documents))
    try store.commit(edits)
    listening.unneeded.keep(paths)
    _ = listening.recovery.attempt { [store, listening] () throws(StoreError) in
      listening.changed(try store.shown(paths))
    }
  }

  /// The target under which the documents of a bundle are held: no server is asked for it.
  private func umbrella(_ id: String) -> DocumentTarget {
    DocumentQuery(.group("__bundle__/docs/" + id), in: store.database).target
  }

  // MARK: Named queries

  /// The query that a bundle brought under a name; nil for an unknown name.
  func namedQuery(_ name: String) throws(FirestoreError) -> DocumentQuery? {
    guard store.lane != nil else { throw store.error }
    let stored = try storing { () throws(StoreError) in
      try store.read { (view, lane) throws(StoreError) in
        try view.metadata(lane.tree, MetadataName.query(name))
      }
    }
    guard let stored else { return nil }
    do throws(StatusError) {
      return try DocumentQuery(json: stored)
    } catch {
      throw FirestoreError(error)
    }
  }
}
