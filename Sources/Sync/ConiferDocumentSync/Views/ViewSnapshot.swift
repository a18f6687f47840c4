package import ConiferDocument
package import ConiferWire

/// What a query gives at one time, and what changed since the snapshot before.
package struct ViewSnapshot: Sendable {
  /// The query.
  package let query: DocumentQuery
  /// The documents, in the query's order.
  package let documents: DocumentSet
  /// The documents of the snapshot before.
  package let oldDocuments: DocumentSet
  /// What changed: removed, added, then modified documents, each in the query's order.
  package let changes: [DocumentChange]
  /// The documents with pending writes.
  package let pendingPaths: PathSet
  /// Whether the documents may differ from the server's.
  package let isFromCache: Bool
  /// Whether `isFromCache` was another one before.
  package let syncStateChanged: Bool
  /// Whether changes of mere metadata were left out.
  package let excludesMetadataChanges: Bool
  /// Whether the server has told this query's documents before, in this run of the app or an earlier one.
  package let hasCachedResults: Bool

  /// Whether a document has pending writes.
  package var hasPendingWrites: Bool { !pendingPaths.isEmpty }

  /// The snapshot without changes of mere metadata.
  var withoutMetadataChanges: ViewSnapshot {
    ViewSnapshot(
      query: query, documents: documents, oldDocuments: oldDocuments,
      changes: changes.contains { $0.kind == .metadata }
        ? changes.filter { $0.kind != .metadata } : changes, pendingPaths: pendingPaths,
      isFromCache: isFromCache, syncStateChanged: syncStateChanged,
      excludesMetadataChanges: true, hasCachedResults: hasCachedResults)
  }

  /// The snapshot as a listener's first one: all documents are added.
  package var initial: ViewSnapshot {
    // The first one of a view says so already.
    let isFirst = oldDocuments.isEmpty && changes.count == documents.count
    return ViewSnapshot(
      query: query, documents: documents,
      oldDocuments: isFirst ? oldDocuments : documents.emptied,
      changes: isFirst ? changes : documents.map { DocumentChange(.added, $0) },
      pendingPaths: pendingPaths, isFromCache: isFromCache, syncStateChanged: true,
      excludesMetadataChanges: excludesMetadataChanges, hasCachedResults: hasCachedResults)
  }
}

extension ViewSnapshot {
  /// A change with the places of the document, as an app sees it.
  package struct IndexedChange: Sendable, Hashable {
    /// What happened; changes of metadata are `modified`.
    package let kind: DocumentChange.Kind
    /// The document.
    package let document: Document
    /// The document's place once the changes before this one are made; nil of an added one.
    package let oldIndex: Int?
    /// The document's place once this change is made, too; nil of a removed one.
    package let newIndex: Int?
  }

  /// The changes with the places that lead from the old documents to the new ones, one by one.
  ///
  /// - Parameter includesMetadata: whether changes of mere metadata are among them.
  /// - Throws: `invalidArgument` when they are asked for, and the listener left them out.
  package func indexedChanges(
    includesMetadata: Bool = false
  ) throws(StatusError) -> [IndexedChange] {
    if includesMetadata && excludesMetadataChanges {
      throw StatusError(
        .invalidArgument,
        "The listener left out changes of metadata. Add it with includeMetadataChanges.")
    }
    var documents = oldDocuments
    return changes.filter { includesMetadata || $0.kind != .metadata }.map { change in
      let path = change.document.path
      let old = change.kind == .added ? nil : documents.index(of: path)
      documents.remove(path)
      guard change.kind != .removed else {
        return IndexedChange(
          kind: .removed, document: change.document, oldIndex: old, newIndex: nil)
      }
      documents.insert(change.document)
      return IndexedChange(
        kind: change.kind == .added ? .added : .modified, document: change.document,
        oldIndex: old, newIndex: documents.index(of: path))
    }
  }
}
