import ConiferDocument
import ConiferDocumentSync
import ConiferKeyValue
import ConiferStorage

/// Stores remote events: all that the server said of all targets up to one moment.
final class RemoteEventStore {
  /// The newest such moment that is stored.
  private(set) var newest = ConiferDocument.Timestamp.zero
  private let store: DocumentStore
  private let targets: TargetStore
  private let unneeded: UnneededDocuments

  init(_ store: DocumentStore, _ targets: TargetStore, _ unneeded: UnneededDocuments) {
    self.store = store
    self.targets = targets
    self.unneeded = unneeded
  }

  /// Begins with the newest moment that the storage knows.
  func begin(at version: ConiferDocument.Timestamp) { newest = version }

  /// Stores an event in one commit.
  ///
  /// - Returns: the documents that it names, as they are shown now.
  func take(_ event: RemoteEvent) throws(StoreError) -> [Document] {
    let paths = event.documents.keys.sorted()
    let changes = targets.edits(for: event, paths)
    let news = try news(of: event, paths)
    let documents = news.puts + changes.documents
    var edits = changes.edits
    if !documents.isEmpty { edits.append(.documents(store.tree, documents)) }
    // An event without changes gets no commit of its own.
    if event.serverTimeWentBack || (!edits.isEmpty && event.version > newest) {
      edits.append(
        .setMetadata(store.tree, MetadataName.snapshot, SnapshotVersion.bytes(event.version)))
    }
    if event.serverTimeWentBack { try targets.forget(after: event.version) }
    try store.commit(edits)
    targets.merge(changes.rows)
    unneeded.add(paths)
    for change in event.targets.values { unneeded.add(change.removed) }
    // Without waiting writes that is what the server said, which is not read once more.
    let shown = news.isWritten ? try store.shown(paths) : news.documents
    newest = event.serverTimeWentBack ? event.version : max(newest, event.version)
    return shown
  }

  /// The changes that an event makes to the documents that it names.
  private struct News {
    /// The edits of documents that are newer than the stored ones; a missing document without a
    /// version is forgotten.
    var puts: [DocumentEdit] = []
    /// The documents as the server's word has them after the event.
    var documents: [Document] = []
    /// Whether writes wait, which may be of these documents.
    var isWritten = false
  }

  /// Whether nothing is stored of the collection that the first of some documents is in; false also where too few of
  /// them are in it to make that worth a read.
  private func isFirst(
    _ paths: ArraySlice<DocumentPath>, of collection: CollectionPath, _ view: any DocumentView,
    _ tree: TreeID
  ) throws(StoreError) -> Bool {
    guard let last = paths.dropFirst(7).first, collection.contains(last) else { return false }
    return try view.documents(tree, in: collection, after: nil, limit: 1).isEmpty
  }

  private func news(
    of event: RemoteEvent, _ paths: [DocumentPath]
  ) throws(StoreError) -> News {
    try store.read { (view, lane) throws(StoreError) in
      var news = News()
      // The first documents of a collection, of which there may be many, are not looked for one by one.
      var around: (collection: CollectionPath, isEmpty: Bool)?
      for (index, path) in paths.enumerated() {
        guard let document = event.documents[path] else { continue }
        if document.state == .missing, document.version == .zero {
          news.puts.append(.forget(path))
          news.documents.append(Document(path, .unseen))
          continue
        }
        if around?.collection.contains(path) != true {
          let collection = path.collection
          around = (collection, try isFirst(paths[index...], of: collection, view, lane.tree))
        }
        let known =
          around?.isEmpty == true
          ? Document(path, .unseen) : try view.document(lane.tree, path)
        // What is known is of a time far ahead of the server's present one: its time was wrong
        // then.
        let isNewer =
          known.isReplaced(by: document) || event.serverTimeWentBack
          || known.version.isFarAhead(of: event.version)
        if isNewer { news.puts.append(.put(document)) }
        news.documents.append(isNewer ? document : known)
      }
      news.isWritten = try view.totals(lane).pending > 0
      return news
    }
  }
}
