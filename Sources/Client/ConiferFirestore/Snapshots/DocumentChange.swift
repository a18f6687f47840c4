import ConiferDocumentSync
import Foundation

/// Whether a document was added to a query's result, modified in it, or removed from it.
public enum DocumentChangeType: Int, Sendable, Hashable {
  /// It came into the result.
  case added
  /// It is still in the result, and has other fields or other metadata.
  case modified
  /// It left the result.
  case removed
}

/// The change of one document between two snapshots of a query, with its old and its new index.
///
/// The changes of a snapshot, made one after the other at their indexes, turn the list of the snapshot
/// before into its own.
public struct DocumentChange: Sendable, Hashable {
  /// What happened.
  public let type: DocumentChangeType
  /// The document as it is now; a removed one as it was.
  public let document: QueryDocumentSnapshot
  /// Its place once the changes before this one are made; `NSNotFound` for an added one.
  public let oldIndex: UInt
  /// Its place once this change is made, too; `NSNotFound` for a removed one.
  public let newIndex: UInt

  init(_ firestore: Firestore, _ change: ViewSnapshot.IndexedChange, _ event: ListenEvent) {
    type =
      switch change.kind {
      case .added: .added
      case .removed: .removed
      case .modified, .metadata: .modified
      }
    document = QueryDocumentSnapshot(
      firestore, change.document, pendingPaths: event.snapshot.pendingPaths,
      isFromCache: event.snapshot.isFromCache, event.knowledge)
    oldIndex = UInt(change.oldIndex ?? NSNotFound)
    newIndex = UInt(change.newIndex ?? NSNotFound)
  }
}
