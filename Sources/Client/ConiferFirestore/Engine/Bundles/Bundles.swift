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
  let post: @Sendable (DocumentStep) -> Void

  typealias Told = @Sendable (Result<BundleProgress, FirestoreError>) -> Void

  /// The most documents that one step reads or stores: writes and listeners do not wait for all of a bundle.
  private static let slice = 100

  // MARK: Loading

  /// Takes in a bundle, and tells how far that has come.
  func load(_ bytes: [UInt8], _ told: @escaping Told) {
    attempt(told) { () throws(FirestoreError) in try take(bytes, told) }
  }

  private func attempt(_ told: @escaping Told, _ body: () throws(FirestoreError) -> Void) {
    do throws(FirestoreError) {
      guard store.lane != nil else { throw store.error }
      try body()
    } catch {
      outbox.addCall { told(.failure(error)) }
    }
  }

  /// Goes on in a step of its own.
  private func later(
    _ told: @escaping Told, _ body: @escaping @Sendable (Bundles) throws(FirestoreError) -> Void
  ) {
    post(
      .run(.none) { loop in
        let bundles = loop.bundles
        bundles.attempt(told) { () throws(FirestoreError) in try body(bundles) }
      })
  }

  private func tell(_ told: @escaping Told, _ progress: BundleProgress) {
    outbox.addCall { told(.success(progress)) }
  }

  private func take(_ bytes: [UInt8], _ told: @escaping Told) throws(FirestoreError) {
    let content = try reading { () throws(StatusError) in
      try BundleContent(of: bytes, in: store.database, before: latestTime)
    }
    let metadata = content.metadata
    let isOld = try storing { () throws(StoreError) -> Bool in try isKnown(metadata) }
    if isOld { return tell(told, metadata.done) }
    tell(told, metadata.progress(0, 0))
    try read(content, told)
  }

  /// Reads the next documents, and stores all once they are read: a bundle that makes no sense changes nothing.
  private func read(_ content: BundleContent, _ told: @escaping Told) throws(FirestoreError) {
    var content = content
    for _ in 0..<Self.slice {
      guard let progress = try reading({ () throws(StatusError) in try content.readNext() }) else {
        let paths = content.documents.keys.sorted()
        listening.unneeded.keep(paths)
        let id = try storing { () throws(StoreError) in
          try store.commit([.saveQuery(TrackedQuery(store.sharedLane, umbrella(content)))])
            .queries.first
        }
        return try add(content, paths[...], to: id, told)
      }
      // The last one is told when all is stored.
      if progress.documents < content.metadata.documents { tell(told, progress) }
    }
    later(told) { [content] (bundles) throws(FirestoreError) in try bundles.read(content, told) }
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

  /// Stores the next documents of a bundle, and at last what says that they are there.
  ///
  /// - Parameters:
  ///   - paths: the documents that are not stored yet.
  ///   - id: the tracked query that holds them.
  private func add(
    _ content: BundleContent, _ paths: ArraySlice<DocumentPath>, to id: QueryID?,
    _ told: @escaping Told
  ) throws(FirestoreError) {
    let slice = paths.prefix(Self.slice)
    try storing { () throws(StoreError) in try put(content, slice, to: id) }
    let rest = paths.dropFirst(slice.count)
    if !rest.isEmpty {
      return later(told) { (bundles) throws(FirestoreError) in
        try bundles.add(content, rest, to: id, told)
      }
    }
    try storing { () throws(StoreError) in try finish(content) }
    tell(told, content.metadata.done)
  }

  private func put(
    _ content: BundleContent, _ paths: ArraySlice<DocumentPath>, to id: QueryID?
  ) throws(StoreError) {
    var edits = try store.read { (view, lane) throws(StoreError) in
      var puts: [DocumentEdit] = []
      for path in paths {
        guard let document = content.documents[path],
          try view.document(lane.tree, path).isReplaced(by: document)
        else { continue }
        puts.append(.put(document))
      }
      return puts
    }
    if let id {
      edits.append(
        paths.startIndex == 0
          ? .setMatches(id, Array(paths))
          : .updateMatches(id, added: Array(paths), removed: []))
    }
    try store.commit([.documents(store.tree, edits)])
    _ = listening.recovery.attempt { [store, listening] () throws(StoreError) in
      listening.changed(try store.shown(paths))
    }
  }

  /// Stores the queries of a bundle whose documents are stored, and that it is there.
  private func finish(_ content: BundleContent) throws(StoreError) {
    var edits: [StorageEdit] = []
    var documents: [DocumentEdit] = []
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
  }

  /// The target under which the documents of a bundle are held: no server is asked for it.
  private func umbrella(_ content: BundleContent) -> DocumentTarget {
    DocumentQuery(.group("__bundle__/docs/" + content.metadata.id), in: store.database).target
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
