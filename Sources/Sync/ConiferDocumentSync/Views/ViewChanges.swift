package import ConiferDocument

/// The effect of changed documents on a view, which is computed but not applied yet.
package struct ViewChanges: Sendable {
  /// The documents.
  package fileprivate(set) var documents: DocumentSet
  /// The documents with pending writes.
  fileprivate(set) var pendingPaths: Set<DocumentPath>
  /// The results of accepted writes that the view does not show yet, because the server sends them.
  fileprivate(set) var heldResults: [DocumentPath: Document]
  /// What changed.
  fileprivate(set) var changes = ChangeSet()
  /// Whether a document left a full result, so that a document that the view does not know may
  /// belong to it. The query's documents must be read again and given to `QueryView.changes` after
  /// these changes.
  package fileprivate(set) var needsRefill = false

  /// No changes yet.
  init(
    _ documents: DocumentSet, pendingPaths: Set<DocumentPath>,
    heldResults: [DocumentPath: Document] = [:]
  ) {
    self.documents = documents
    self.pendingPaths = pendingPaths
    self.heldResults = heldResults
  }
}

extension QueryView {
  /// What changed documents would make of the view.
  ///
  /// - Parameters:
  ///   - changed: the documents as they are now, those that no longer exist or match, too.
  ///   - previous: earlier changes that asked for a refill.
  package func changes(
    _ changed: ArraySlice<Document>, after previous: ViewChanges? = nil
  ) -> ViewChanges {
    if previous == nil, let first = firstChanges(changed) { return first }
    var result = previous ?? unchanged
    result.needsRefill = false
    let edge = Edge(of: result.documents, query)
    for document in changed { take(document, edge, into: &result) }
    showHeldResults(&result)
    trim(&result)
    return result
  }

  /// The view as it is.
  var unchanged: ViewChanges {
    ViewChanges(documents, pendingPaths: pendingPaths, heldResults: heldResults)
  }

  /// The same for documents in an array of their own.
  package func changes(_ changed: [Document], after previous: ViewChanges? = nil) -> ViewChanges {
    changes(changed[...], after: previous)
  }

  /// A fast path for an empty view; nil when the view has documents, or one document comes twice.
  ///
  /// Documents that all match and are in order are not copied.
  private func firstChanges(_ changed: ArraySlice<Document>) -> ViewChanges? {
    guard documents.isEmpty else { return nil }
    var found = changed
    if !found.allSatisfy(target.matches) { found = found.filter(target.matches)[...] }
    let isStrict = found.isSorted(by: order)
    if !isStrict { found.sort { order($0, $1) < 0 } }
    if let limit = query.limit, found.count > limit.count {
      found = limit.side == .first ? found.prefix(limit.count) : found.suffix(limit.count)
    }
    guard let documents = DocumentSet(sorted: found, isStrict: isStrict, like: documents) else {
      return nil
    }
    var result = ViewChanges(
      documents, pendingPaths: Set(found.lazy.filter { $0.writes == .pending }.map(\.path)))
    result.changes = ChangeSet(first: found)
    return result
  }

  private func take(_ document: Document, _ edge: Edge?, into result: inout ViewChanges) {
    let path = document.path
    let old = result.documents[path]
    if !result.heldResults.isEmpty { result.heldResults[path] = nil }
    let isMutated =
      document.writes == .pending
      // An accepted write counts as pending until the server sends it back, if the view had shown
      // it as pending.
      || document.writes == .committed && pendingPaths.contains(path)
    guard target.matches(document) else {
      guard let old else { return }
      result.changes.track(DocumentChange(.removed, old))
      result.documents.remove(path)
      result.pendingPaths.remove(path)
      if edge != nil { result.needsRefill = true }
      return
    }
    if let old {
      // The server sends the result of an accepted write later: listeners get one event, not two.
      if old.writes == .pending, document.writes == .committed {
        result.heldResults[path] = document
        return
      }
      if old.fields != document.fields {
        result.changes.track(DocumentChange(.modified, document))
        if let edge, edge.excludes(document, order) { result.needsRefill = true }
      } else {
        guard pendingPaths.contains(path) != isMutated else { return }
        result.changes.track(DocumentChange(.metadata, document))
      }
    } else {
      result.changes.track(DocumentChange(.added, document))
    }
    result.documents.insert(document)
    if isMutated { result.pendingPaths.insert(path) } else { result.pendingPaths.remove(path) }
  }

  /// Shows the results of accepted writes that the server may never send: those that come after all documents that the
  /// limit has room for.
  private func showHeldResults(_ result: inout ViewChanges) {
    guard !result.heldResults.isEmpty, let edge = Edge(of: result.documents, query) else { return }
    for (path, document) in result.heldResults.sorted(by: { $0.key < $1.key })
    where edge.excludes(document, order) {
      result.heldResults[path] = nil
      result.changes.track(DocumentChange(.modified, document))
      result.documents.insert(document)
      result.needsRefill = true
    }
  }

  /// Drops what is beyond the limit.
  private func trim(_ result: inout ViewChanges) {
    guard let limit = query.limit else { return }
    while result.documents.count > limit.count {
      let end = limit.side == .first ? result.documents.last : result.documents.first
      guard let end else { return }
      result.documents.remove(end.path)
      result.pendingPaths.remove(end.path)
      result.heldResults[end.path] = nil
      result.changes.track(DocumentChange(.removed, end))
    }
  }
}

/// The last document that a full limit has room for, on the side that the limit cuts off.
private struct Edge {
  let document: Document
  let side: DocumentQuery.Side

  /// Nil when there is no limit, or it is not reached.
  init?(of documents: DocumentSet, _ query: DocumentQuery) {
    guard let limit = query.limit, limit.count > 0, documents.count >= limit.count else {
      return nil
    }
    let isFirst = limit.side == .first
    if documents.count == limit.count {
      guard let end = isFirst ? documents.last : documents.first else { return nil }
      document = end
    } else {
      let all = Array(documents)
      document = isFirst ? all[limit.count - 1] : all[all.count - limit.count]
    }
    side = limit.side
  }

  /// Whether a document is now beyond the edge, where documents that the view lacks may come before it.
  func excludes(_ other: Document, _ order: SortedList<Document>.Order) -> Bool {
    let place = order(other, document)
    return side == .first ? place > 0 : place < 0
  }
}
