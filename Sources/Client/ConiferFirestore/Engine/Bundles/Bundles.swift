import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire

/// Takes in bundles: documents go into the cache as if the server had sent them, and queries are kept by their names.
final class Bundles {
  let store: DocumentStore
  let listening: Listening
  let outbox: Outbox
  let post: @Sendable (DocumentStep) -> Void
  /// The loads of each bundle: the first is under way, and the others wait for it. Ids are compared by their bytes.
  private var loads: [[UInt8]: [BundleLoad]] = [:]

  /// Whether a bundle is being loaded.
  var isLoading: Bool { !loads.isEmpty }

  typealias Completion = BundleLoad.Completion

  /// The most documents that one step reads or stores: writes and listeners do not wait for all of a bundle.
  private static let slice = 100

  init(
    _ store: DocumentStore, _ listening: Listening, _ outbox: Outbox,
    _ post: @escaping @Sendable (DocumentStep) -> Void
  ) {
    self.store = store
    self.listening = listening
    self.outbox = outbox
    self.post = post
  }

  // MARK: Loading

  /// Takes in a bundle, and tells how far that has come.
  func load(_ bytes: [UInt8], _ completion: @escaping Completion) {
    do throws(FirestoreError) {
      try checkOpen()
      let load = try reading { () throws(StatusError) in
        BundleLoad(try BundleContent(of: bytes, in: store.database, before: latestTime), completion)
      }
      loads[load.key, default: []].append(load)
      if loads[load.key]?.count == 1 { continueLoading(load) }
    } catch {
      outbox.addCall { completion(.failure(error)) }
    }
  }

  private func checkOpen() throws(FirestoreError) {
    guard store.lane != nil else { throw store.error }
  }

  /// Does the next part of a load, and posts a step for the one after it.
  private func continueLoading(_ load: BundleLoad) {
    do throws(FirestoreError) {
      try checkOpen()
      let isDone =
        switch load.phase {
        case .begun: try begin(load)
        case .reading: try read(load)
        case .storing(let rest): try put(rest, of: load)
        }
      if isDone { end(load) } else { scheduleNextPart(load.key) }
    } catch {
      load.tell(.failure(error), outbox)
      end(load)
    }
  }

  private func scheduleNextPart(_ key: [UInt8]) {
    post(
      .run(.none) { loop in
        if let load = loop.bundles.loads[key]?.first { loop.bundles.continueLoading(load) }
      })
  }

  /// A load is over: the next one of the bundle begins.
  private func end(_ load: BundleLoad) {
    if let bundleTarget = load.bundleTarget { _ = store.setActive(false, bundleTarget) }
    let rest = loads[load.key]?.dropFirst() ?? []
    loads[load.key] = rest.isEmpty ? nil : Array(rest)
    if !rest.isEmpty { scheduleNextPart(load.key) }
  }

  private func reading<R>(_ body: () throws(StatusError) -> R) throws(FirestoreError) -> R {
    do throws(StatusError) { return try body() } catch { throw FirestoreError(error) }
  }

  private func storing<R>(_ body: () throws(StoreError) -> R) throws(FirestoreError) -> R {
    do throws(StoreError) { return try body() } catch {
      throw FirestoreError(error, "The bundle was not taken in")
    }
  }

  /// A day after the device's clock or after the newest time of the server, whichever is later. A
  /// clock that was never set is ignored.
  private var latestTime: ConiferDocument.Timestamp {
    let known = max(listening.setup.clock.wallTime / 1000, listening.events.newest.seconds)
    let now = known < Self.firstTime ? Self.lastTime : known
    return (try? ConiferDocument.Timestamp(seconds: now + 86_400)) ?? listening.events.newest
  }

  /// The years 2020 and 2100. A clock before 2020 was never set, as in a device that lost all
  /// power; no bundle has a time after 2100.
  private static let (firstTime, lastTime): (Int64, Int64) = (1_577_836_800, 4_102_444_800)

  // MARK: Parts

  // Each part returns whether the load is complete.

  private func begin(_ load: BundleLoad) throws(FirestoreError) -> Bool {
    let metadata = load.content.metadata
    if try storing({ () throws(StoreError) in try isKnown(metadata) }) {
      load.tell(.success(metadata.done), outbox)
      return true
    }
    load.tell(.success(metadata.progress(0, 0)), outbox)
    load.phase = .reading
    return try read(load)
  }

  /// Whether the store has this version of a bundle, or a newer one.
  private func isKnown(_ metadata: BundleElement.Metadata) throws(StoreError) -> Bool {
    let stored = try store.read { (view, lane) throws(StoreError) in
      try view.metadata(lane.tree, MetadataName.bundle(metadata.id))
    }
    return stored.map { SnapshotVersion.time($0) >= metadata.createTime } ?? false
  }

  /// Reads the next documents, and stores them all once all are read, so that an invalid bundle
  /// changes nothing.
  private func read(_ load: BundleLoad) throws(FirestoreError) -> Bool {
    for _ in 0..<Self.slice {
      let progress = try reading { () throws(StatusError) in try load.content.readNext() }
      guard let progress else {
        let paths = load.content.documents.keys.sorted()
        listening.unneeded.keep(paths)
        load.bundleTarget = try storing { () throws(StoreError) in try track(load) }
        load.phase = .storing(paths[...])
        return try put(paths[...], of: load)
      }
      // The last progress is reported when everything is stored.
      if progress.documents < load.content.metadata.documents {
        load.tell(.success(progress), outbox)
      }
    }
    return false
  }

  /// Tracks the query that holds the documents of a bundle. The query is active, so nothing of it
  /// is evicted between two parts.
  private func track(_ load: BundleLoad) throws(StoreError) -> QueryID {
    let target = load.target(in: store.database)
    let id = try listening.targets.save(TrackedQuery(store.sharedLane, target))
    return try listening.targets.activate(id, target).id
  }

  /// Stores the next documents of a bundle, and after the last ones the record that the bundle was
  /// loaded.
  private func put(
    _ paths: ArraySlice<DocumentPath>, of load: BundleLoad
  ) throws(FirestoreError) -> Bool {
    let slice = paths.prefix(Self.slice)
    try storing { () throws(StoreError) in try put(load, slice) }
    let rest = paths.dropFirst(slice.count)
    load.phase = .storing(rest)
    guard rest.isEmpty else { return false }
    try storing { () throws(StoreError) in try finish(load) }
    load.tell(.success(load.content.metadata.done), outbox)
    return true
  }

  private func put(
    _ load: BundleLoad, _ paths: ArraySlice<DocumentPath>
  ) throws(StoreError) {
    var edits = try store.read { (view, lane) throws(StoreError) in
      var puts: [DocumentEdit] = []
      for path in paths {
        guard let document = load.content.documents[path],
          try view.document(lane.tree, path).isReplaced(by: document)
        else { continue }
        puts.append(.put(document))
      }
      return puts
    }
    if let id = load.bundleTarget {
      edits.append(
        paths.startIndex == 0
          ? .setMatches(id, Array(paths))
          : .updateMatches(id, added: Array(paths), removed: []))
    }
    try store.commit([.documents(store.tree, edits)])
    _ = listening.recovery.attempt { [store, listening] () throws(StoreError) in
      listening.changed(try store.known(paths), .server)
    }
  }

  /// Stores the queries of a bundle whose documents are stored, and the record that it was loaded.
  private func finish(_ load: BundleLoad) throws(StoreError) {
    let metadata = load.content.metadata
    var edits: [StorageEdit] = []
    var documents: [DocumentEdit] = []
    for query in load.content.queries {
      let matches = load.content.matches(of: query)
      if let edit = try listening.targets.seed(query.query.target, query.readTime, matches) {
        edits.append(edit.save)
        documents.append(edit.matches)
      }
      edits.append(.setMetadata(store.tree, MetadataName.query(query.name), query.query.json))
    }
    edits.append(
      .setMetadata(
        store.tree, MetadataName.bundle(metadata.id), SnapshotVersion.bytes(metadata.createTime)))
    edits.append(.documents(store.tree, documents))
    try store.commit(edits)
  }

  // MARK: Named queries

  /// The query that a bundle brought under a name; nil for an unknown name.
  func namedQuery(_ name: String) throws(FirestoreError) -> DocumentQuery? {
    try checkOpen()
    let stored = try storing { () throws(StoreError) in
      try store.read { (view, lane) throws(StoreError) in
        try view.metadata(lane.tree, MetadataName.query(name))
      }
    }
    guard let stored else { return nil }
    return try reading { () throws(StatusError) in try DocumentQuery(json: stored) }
  }
}
