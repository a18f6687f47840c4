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
    let changes = targets.edits(for: event)
    var eventChanges = try eventChanges(of: event)
    eventChanges.edits += changes.documents
    var edits = changes.edits
    if !eventChanges.edits.isEmpty { edits.append(.documents(store.tree, eventChanges.edits)) }
    // An event without changes gets no commit of its own.
    if event.serverTimeWentBack || (!edits.isEmpty && event.version > newest) {
      edits.append(
        .setMetadata(store.tree, MetadataName.snapshot, SnapshotVersion.bytes(event.version)))
    }
    if event.serverTimeWentBack { try targets.forget(after: event.version) }
    try store.commit(edits)
    targets.merge(changes.rows)
    if event.serverTimeWentBack { targets.forgetToldTimes() }
    unneeded.add(event.documents.lazy.map(\.path))
    for change in event.targets.values { unneeded.add(change.removed) }
    // Without waiting writes the documents are as the server sent them, so they are not read again.
    let shown =
      eventChanges.isWritten
      ? try store.shown(event.documents.lazy.map(\.path)) : eventChanges.documents
    newest = event.serverTimeWentBack ? event.version : max(newest, event.version)
    return shown
  }

  /// The changes that an event makes to the documents that it names.
  private struct EventChanges {
    /// The edits of documents that are newer than the stored ones; a missing document without a
    /// version is forgotten.
    var edits: [DocumentEdit] = []
    /// The documents as the server's word has them after the event.
    var documents: [Document]
    /// Whether writes wait, which may be of these documents.
    var isWritten = false

    init(_ event: RemoteEvent) {
      documents = event.documents
      edits.reserveCapacity(documents.count + event.targets.count)
    }
  }

  /// Whether nothing is stored of a collection; false also where too few documents follow one another that are in it to
  /// make that worth a read.
  private func isEmpty(
    _ collection: CollectionPath, before documents: ArraySlice<Document>,
    _ view: any DocumentView, _ tree: TreeID
  ) throws(StoreError) -> Bool {
    guard let last = documents.dropFirst(7).first, collection.contains(last.path) else {
      return false
    }
    return try view.documents(tree, in: collection, after: nil, limit: 1).isEmpty
  }

  private func eventChanges(of event: RemoteEvent) throws(StoreError) -> EventChanges {
    try store.read { (view, lane) throws(StoreError) in
      var eventChanges = EventChanges(event)
      // In a collection of which nothing is stored, documents are not looked up one by one.
      var around: (collection: CollectionPath, isEmpty: Bool)?
      for (index, document) in event.documents.enumerated() {
        let path = document.path
        if case .missing = document.state, document.version == .zero {
          eventChanges.edits.append(.forget(path))
          eventChanges.documents[index] = Document(path, .unseen)
          continue
        }
        if around?.collection.contains(path) != true {
          let collection = path.collection
          let rest = event.documents[index...]
          around = (collection, try isEmpty(collection, before: rest, view, lane.tree))
        }
        if around?.isEmpty == true {
          eventChanges.edits.append(.put(document))
          continue
        }
        let known = try view.document(lane.tree, path)
        // A stored time far ahead of the server's present time means that the server's time was
        // wrong then.
        let isNewer =
          known.isReplaced(by: document) || event.serverTimeWentBack
          || known.version.isFarAhead(of: event.version)
        if isNewer {
          eventChanges.edits.append(.put(document))
        } else {
          eventChanges.documents[index] = known
        }
      }
      eventChanges.isWritten = try view.totals(lane).pending > 0
      return eventChanges
    }
  }
}
