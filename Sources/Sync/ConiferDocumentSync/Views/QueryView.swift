package import ConiferDocument

/// The documents of a listened query: what the store has, and what the server says belongs to it.
///
/// A change of documents takes two steps: `changes` computes it, `apply` takes it in. Between them the caller
/// reads the query anew when a limit needs a refill.
package struct QueryView: Sendable {
  /// Whether the documents of the last snapshot are known to be the server's.
  private enum SyncState: Sendable {
    /// There was no snapshot yet.
    case none
    /// The documents may differ from the server's.
    case local
    /// The documents are those of the server.
    case synced
  }

  /// The query.
  package let query: DocumentQuery
  let target: DocumentTarget
  let order: SortedList<Document>.Order
  /// The documents, in the query's order.
  package private(set) var documents: DocumentSet
  /// The documents with pending writes.
  private(set) var pendingPaths = PathSet()
  /// The results of accepted writes that are not shown yet, because the server sends them.
  private(set) var heldResults = DocumentSet.emptyByPath
  /// The documents that the server says match.
  package private(set) var matchedPaths: MatchedPaths
  /// Documents of the view that the server has not confirmed and that have no pending write.
  private var unconfirmedPaths: Set<DocumentPath> = []
  /// The unconfirmed documents when the view was last current. The server is asked for each.
  package private(set) var limboPaths: Set<DocumentPath> = []
  /// Whether the server has sent all that it had when it was asked.
  private var isCurrent = false
  /// Whether the server has ever sent the query's documents, perhaps in an earlier run.
  private var hasToken = false
  private var syncState = SyncState.none

  /// A view without documents yet.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - matchedPaths: the documents that the server has said match, as stored.
  package init(_ query: DocumentQuery, matchedPaths: MatchedPaths = []) {
    self.query = query
    self.matchedPaths = matchedPaths
    target = query.target
    order = query.documentOrder(by: target)
    documents = DocumentSet(order, isByPath: query.isOrderedByPath(by: target))
  }

  /// What a step made of a view.
  package struct Update: Sendable {
    /// What listeners may be told; nil when nothing changed.
    package let snapshot: ViewSnapshot?
    /// The documents that are in limbo from now on.
    package let intoLimbo: Set<DocumentPath>
    /// The documents that are in limbo no longer.
    package let outOfLimbo: Set<DocumentPath>
  }

  /// Takes changes in.
  ///
  /// - Parameters:
  ///   - changes: what `changes` computed, after the last step of the view.
  ///   - change: what the server says of the query's target.
  ///   - isPendingReset: whether the target is asked for anew, since what the client had was wrong.
  package mutating func apply(
    _ changes: ViewChanges, _ change: TargetChange? = nil, isPendingReset: Bool = false
  ) -> Update {
    let oldDocuments = documents
    documents = changes.documents
    pendingPaths = changes.pendingPaths
    heldResults = changes.heldResults
    // First what the server says: most of what comes into a view is confirmed by it.
    if let change { take(change) }
    if let change, !change.resumeToken.isEmpty { hasToken = true }
    confirm(changes.changes, change)

    var intoLimbo: Set<DocumentPath> = []
    var outOfLimbo: Set<DocumentPath> = []
    // Only a complete answer of the server shows that a document does not match.
    if isCurrent && !isPendingReset {
      intoLimbo = unconfirmedPaths.subtracting(limboPaths)
      outOfLimbo = limboPaths.subtracting(unconfirmedPaths)
      limboPaths = unconfirmedPaths
    }
    let isSynced = isCurrent && limboPaths.isEmpty && !isPendingReset
    let newState = isSynced ? SyncState.synced : .local
    let stateChanged = newState != syncState
    syncState = newState

    var snapshot: ViewSnapshot?
    if stateChanged || !changes.changes.isEmpty {
      snapshot = ViewSnapshot(
        query: query, documents: documents, oldDocuments: oldDocuments,
        changes: changes.changes.sorted(by: order), pendingPaths: pendingPaths,
        isFromCache: !isSynced, syncStateChanged: stateChanged, excludesMetadataChanges: false,
        hasCachedResults: change.map { !$0.resumeToken.isEmpty } ?? false)
    }
    return Update(snapshot: snapshot, intoLimbo: intoLimbo, outOfLimbo: outOfLimbo)
  }

  /// The server is not asked for the target any longer, nor for documents in limbo; the next snapshot says so.
  mutating func stopBeingCurrent() {
    isCurrent = false
    limboPaths = []
  }

  /// What the view shows may differ from the server's until it is current again.
  package mutating func goOffline() -> Update {
    guard isCurrent || isSynced else { return Update(snapshot: nil, intoLimbo: [], outOfLimbo: []) }
    isCurrent = false
    return apply(unchanged)
  }

  /// Whether the last snapshot was the server's.
  package var isSynced: Bool { syncState == .synced }

  /// The view as it would be told to a listener that begins now.
  package var snapshot: ViewSnapshot {
    ViewSnapshot(
      query: query, documents: documents, oldDocuments: documents, changes: [],
      pendingPaths: pendingPaths, isFromCache: syncState != .synced, syncStateChanged: false,
      excludesMetadataChanges: false, hasCachedResults: hasToken
    ).initial
  }

  private mutating func take(_ change: TargetChange) {
    matchedPaths.change(adding: change.added, removing: change.removed)
    for path in change.added where !unconfirmedPaths.isEmpty { unconfirmedPaths.remove(path) }
    for path in change.removed { confirm(path) }
    isCurrent = change.isCurrent
  }

  /// Confirms what comes into the view, or does not.
  private mutating func confirm(_ changes: ChangeSet, _ change: TargetChange?) {
    if let change, changes.isFirst(with: change.added) { return }
    // Mostly all that a view begins with matches, and nothing else does.
    if unconfirmedPaths.isEmpty, let paths = matchedPaths.inOrder, changes.isFirst(with: paths) {
      return
    }
    if changes.count > 1 { matchedPaths.hash() }
    changes.forEachPath { confirm($0) }
  }

  /// Adds a document to the unconfirmed ones, or removes it from them.
  private mutating func confirm(_ path: DocumentPath) {
    if !matchedPaths.contains(path), let document = documents[path], document.writes != .pending {
      unconfirmedPaths.insert(path)
    } else if !unconfirmedPaths.isEmpty {
      unconfirmedPaths.remove(path)
    }
  }
}
