package import ConiferDocument

/// What changes the documents of views.
package enum ChangeCause: Sendable {
  /// The server said so: it sent them, or accepted a write.
  case server
  /// A write was made here, or has gone: the server refused it, or the app discarded it.
  case write
  /// Another user is signed in, with other writes.
  case user
}

/// The effect of changed documents on a view, which is computed but not applied yet.
package struct ViewChanges: Sendable {
  /// The documents.
  package fileprivate(set) var documents: DocumentSet
  /// The documents with pending writes.
  fileprivate(set) var pendingPaths: PathSet
  /// The results of accepted writes that the view does not show yet, because the server sends them.
  fileprivate(set) var heldResults: DocumentSet
  /// What changed.
  fileprivate(set) var changes = ChangeSet()
  /// Whether a document left a full result, so that a document that the view does not know may
  /// belong to it. The query's documents must be read again and given to `QueryView.changes` after
  /// these changes.
  package fileprivate(set) var needsRefill = false

  /// No changes yet.
  init(
    _ documents: DocumentSet, pendingPaths: PathSet, heldResults: DocumentSet = .emptyByPath
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
  ///   - cause: what changed them.
  ///   - previous: earlier changes that asked for a refill.
  ///   - moment: up to when the server has said everything of the query's target, if that is new.
  ///   - change: what it has said.
  package func changes(
    _ changed: ArraySlice<Document>, _ cause: ChangeCause = .server,
    after previous: ViewChanges? = nil, asOf moment: Timestamp? = nil,
    _ change: TargetChange? = nil
  ) -> ViewChanges {
    if previous == nil, let first = firstChanges(changed) { return first }
    var result = previous ?? unchanged
    result.needsRefill = false
    let edge = Edge(of: result.documents, query)
    for document in changed { take(document, cause, edge, into: &result) }
    if !result.heldResults.isEmpty {
      if let moment { showPassedResults(asOf: moment, change, edge, &result) }
      showResultsBeyondLimit(isRefilled: previous != nil, &result)
    }
    trim(&result)
    return result
  }

  /// The view as it is.
  var unchanged: ViewChanges {
    ViewChanges(documents, pendingPaths: pendingPaths, heldResults: heldResults)
  }

  /// The same for documents in an array of their own.
  package func changes(
    _ changed: [Document], _ cause: ChangeCause = .server, after previous: ViewChanges? = nil,
    asOf moment: Timestamp? = nil, _ change: TargetChange? = nil
  ) -> ViewChanges {
    changes(changed[...], cause, after: previous, asOf: moment, change)
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
      documents, pendingPaths: PathSet(found.lazy.filter { $0.writes == .pending }.map(\.path)))
    result.changes = ChangeSet(first: found)
    return result
  }

  private func take(
    _ document: Document, _ cause: ChangeCause, _ edge: Edge?, into result: inout ViewChanges
  ) {
    let path = document.path
    let old = result.documents[path]
    if !result.heldResults.isEmpty { result.heldResults.remove(path) }
    let isMutated =
      document.writes == .pending
      // An accepted write counts as pending until the server sends it back, if the view had shown
      // it as pending to the user who made it.
      || document.writes == .committed && pendingPaths.contains(path) && cause != .user
    guard target.matches(document) else {
      guard let old else { return }
      result.changes.track(DocumentChange(.removed, old))
      result.documents.remove(path)
      result.pendingPaths.remove(path)
      if edge != nil { result.needsRefill = true }
      return
    }
    if let old {
      // The server sends the result of an accepted write later: listeners get one event, not two. After a later
      // write was withdrawn, the accepted result is shown at once.
      if cause == .server, old.writes == .pending, document.writes == .committed {
        result.heldResults.insert(document)
        return
      }
      if old.fields != document.fields {
        if old.hasPendingFields(of: document) { return }
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

  // MARK: Results that the server does not send

  /// Shows the results of accepted writes that the server has not sent although it has said everything since: somebody
  /// has changed their documents again, or they do not belong to the query. Whether it still has them is unconfirmed.
  private func showPassedResults(
    asOf moment: Timestamp, _ change: TargetChange?, _ edge: Edge?, _ result: inout ViewChanges
  ) {
    let passed = result.heldResults.filter { document in
      guard document.version <= moment else { return false }
      if let change, change.added.contains(document.path) { return false }
      return !matchedPaths.contains(document.path)
        || change?.removed.contains(document.path) == true
    }
    for document in passed {
      show(document, &result)
      if let edge, edge.excludes(document, order) { result.needsRefill = true }
    }
  }

  /// Shows the results of accepted writes that are beyond the limit, so that the server need not send them. Whether they
  /// are is known once the query was read again, since the view may lack documents that come before them.
  private func showResultsBeyondLimit(isRefilled: Bool, _ result: inout ViewChanges) {
    guard let limit = query.limit, result.documents.count >= limit.count else { return }
    let room = isRefilled ? limit.count : limit.count - 1
    let beyond = result.heldResults.filter { countBefore($0, result) >= room }
    guard isRefilled else {
      if !beyond.isEmpty { result.needsRefill = true }
      return
    }
    for document in beyond { show(document, &result) }
  }

  private func show(_ document: Document, _ result: inout ViewChanges) {
    let isChanged = result.documents[document.path]?.fields != document.fields
    result.heldResults.remove(document.path)
    result.changes.track(DocumentChange(isChanged ? .modified : .metadata, document))
    result.documents.insert(document)
    result.pendingPaths.remove(document.path)
  }

  /// How many other documents come before a held result, on the side that a limit keeps.
  private func countBefore(_ document: Document, _ result: ViewChanges) -> Int {
    result.documents.count { other in
      guard other.path != document.path else { return false }
      let place = order(result.heldResults[other.path] ?? other, document)
      return query.limit?.side == .last ? place > 0 : place < 0
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
      result.heldResults.remove(end.path)
      result.changes.track(DocumentChange(.removed, end))
    }
  }
}

/// The document at the end that a full limit cuts off.
private struct Edge {
  let document: Document
  let side: DocumentQuery.Side

  /// Nil when there is no limit, or it is not reached.
  init?(of documents: DocumentSet, _ query: DocumentQuery) {
    guard let limit = query.limit, documents.count == limit.count,
      let end = limit.side == .first ? documents.last : documents.first
    else { return nil }
    document = end
    side = limit.side
  }

  /// Whether a document is now beyond the edge, where documents that the view lacks may come before it.
  func excludes(_ other: Document, _ order: SortedList<Document>.Order) -> Bool {
    let place = order(other, document)
    return side == .first ? place > 0 : place < 0
  }
}

extension Document {
  /// Whether waiting writes make the same fields of both, but for what was there before their server timestamps: the server
  /// has sent the result of a write that it has not answered. Listeners hear of that once it has.
  fileprivate func hasPendingFields(of other: Document) -> Bool {
    guard writes == .pending, other.writes == .pending, let fields, let others = other.fields
    else { return false }
    return fields.resolved(.estimate) == others.resolved(.estimate)
      && fields.resolved(.none) == others.resolved(.none)
  }
}
