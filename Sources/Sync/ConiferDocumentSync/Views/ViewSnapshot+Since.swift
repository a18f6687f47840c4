import ConiferDocument

extension ViewSnapshot {
  /// The snapshot for a reader who saw an earlier one last, and none of those between.
  ///
  /// - Parameter earlier: what the reader saw, of the same query.
  /// - Returns: the same documents, with the changes since the earlier one.
  package func since(_ earlier: ViewSnapshot) -> ViewSnapshot {
    var changes = ChangeSet()
    for document in earlier.documents where documents[document.path] == nil {
      changes.track(DocumentChange(.removed, document))
    }
    for document in documents {
      guard let old = earlier.documents[document.path] else {
        changes.track(DocumentChange(.added, document))
        continue
      }
      let path = document.path
      if old.fields != document.fields {
        changes.track(DocumentChange(.modified, document))
      } else if earlier.pendingPaths.contains(path) != pendingPaths.contains(path) {
        changes.track(DocumentChange(.metadata, document))
      }
    }
    let sorted = changes.sorted(by: query.documentOrder).filter {
      !excludesMetadataChanges || $0.kind != .metadata
    }
    return ViewSnapshot(
      query: query, documents: documents, oldDocuments: earlier.documents, changes: sorted,
      pendingPaths: pendingPaths, isFromCache: isFromCache,
      syncStateChanged: isFromCache != earlier.isFromCache,
      excludesMetadataChanges: excludesMetadataChanges, hasCachedResults: hasCachedResults)
  }
}
