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
  /// One of those of an event of a listener.
  convenience init(_ firestore: Firestore, _ document: Document, _ event: ListenEvent) {
    self.init(
      DocumentReference(firestore, document.path), document,
      SnapshotMetadata(
        hasPendingWrites: event.snapshot.mutatedKeys.contains(document.path),
        isFromCache: event.snapshot.isFromCache,
        wasEverComplete: document.readTime != .zero, serverTime: document.readTime))
  }
}
