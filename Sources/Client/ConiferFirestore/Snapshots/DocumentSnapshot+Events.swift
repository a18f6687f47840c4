import ConiferDocument
import ConiferDocumentSync

// Snapshots of one document, from what the engine tells.
extension DocumentSnapshot {
  /// From a get.
  convenience init(_ reference: DocumentReference, _ got: GotDocument) {
    let document = got.document
    self.init(
      reference.firestore, document,
      SnapshotMetadata(
        hasPendingWrites: document.fields != nil && document.writes == .pending,
        isFromCache: got.isFromCache,
        wasEverComplete: document.readTime != .zero || !got.isFromCache,
        serverTime: max(document.readTime, got.confirmed)))
  }

  /// From an event of a listener of the document.
  convenience init(_ reference: DocumentReference, _ path: DocumentPath, _ event: ListenEvent) {
    let (snapshot, knowledge) = (event.snapshot, event.knowledge)
    let isKnown = !snapshot.isFromCache || knowledge.wasEverComplete
    let document =
      snapshot.documents[path]
      ?? Self.absent(knowledge.absent, isKnown && !snapshot.isFromCache)
      ?? Document(path, isKnown ? .missing : .unseen, readTime: knowledge.readTime)
    self.init(
      reference.firestore, document,
      SnapshotMetadata(
        hasPendingWrites: document.fields != nil && snapshot.pendingPaths.contains(path),
        isFromCache: snapshot.isFromCache,
        wasEverComplete: isKnown || document.readTime != .zero,
        serverTime: max(document.readTime, knowledge.readTime)))
  }

  /// What is known of a document that is not found; nil when the listener itself says more.
  ///
  /// - Parameter isGone: whether the server says now that there is none. What it said before may have been
  ///   forgotten since, when it refused to tell more.
  private static func absent(_ document: Document?, _ isGone: Bool) -> Document? {
    guard let document, document.fields == nil else { return nil }
    return document.state == .unseen && isGone ? nil : document
  }
}

extension QueryDocumentSnapshot {
  /// A document of a listener's event. It takes only what it needs of the event, because there may
  /// be many documents.
  convenience init(
    _ firestore: Firestore, _ document: Document, pendingPaths: PathSet,
    isFromCache: Bool, _ knowledge: QueryKnowledge
  ) {
    self.init(
      firestore, document,
      SnapshotMetadata(
        // Documents whose state is `synced` have no pending write.
        hasPendingWrites: document.writes != .synced && pendingPaths.contains(document.path),
        isFromCache: isFromCache, wasEverComplete: document.readTime != .zero,
        serverTime: isFromCache ? document.readTime : max(document.readTime, knowledge.readTime)))
  }
}
