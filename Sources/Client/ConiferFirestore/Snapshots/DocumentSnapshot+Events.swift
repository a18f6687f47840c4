import ConiferDocument
import ConiferDocumentSync

// Snapshots of one document, from what the engine tells.
extension DocumentSnapshot {
  /// From a get.
  convenience init(_ reference: DocumentReference, _ got: GotDocument) {
    let document = got.document
    self.init(
      reference, document,
      SnapshotMetadata(
        hasPendingWrites: document.writes == .pending, isFromCache: got.isFromCache,
        wasEverComplete: document.readTime != .zero || !got.isFromCache,
        serverTime: document.readTime))
  }

  /// From an event of a listener of the document.
  convenience init(_ reference: DocumentReference, _ path: DocumentPath, _ event: ListenEvent) {
    let (snapshot, knowledge) = (event.snapshot, event.knowledge)
    let isKnown = !snapshot.isFromCache || knowledge.wasEverComplete
    let document =
      snapshot.documents[path]
      ?? Document(path, isKnown ? .missing : .unseen, readTime: knowledge.readTime)
    self.init(
      reference, document,
      SnapshotMetadata(
        hasPendingWrites: snapshot.mutatedKeys.contains(path), isFromCache: snapshot.isFromCache,
        wasEverComplete: isKnown, serverTime: max(document.readTime, knowledge.readTime)))
  }
}

extension QueryDocumentSnapshot {
  /// One of those of an event of a listener; of the event there is no more than what they need, as there may be many.
  convenience init(
    _ firestore: Firestore, _ document: Document, mutatedKeys: Set<DocumentPath>,
    isFromCache: Bool
  ) {
    self.init(
      DocumentReference(firestore, document.path), document,
      SnapshotMetadata(
        hasPendingWrites: !mutatedKeys.isEmpty && mutatedKeys.contains(document.path),
        isFromCache: isFromCache, wasEverComplete: document.readTime != .zero,
        serverTime: document.readTime))
  }
}
