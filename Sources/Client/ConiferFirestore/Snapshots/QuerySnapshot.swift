import ConiferDocument
import ConiferDocumentSync
import Synchronization

/// The result of a query at one moment; it is immutable, and may be kept and shared.
public final class QuerySnapshot: Sendable {
  /// The query.
  public let query: Query
  /// Where the documents come from, and how well the result is known.
  public let metadata: SnapshotMetadata
  private let event: ListenEvent
  /// The documents, once somebody asked for them.
  private let documentsCache = Mutex<[QueryDocumentSnapshot]?>(nil)

  init(_ query: Query, _ event: ListenEvent) {
    self.query = query
    self.event = event
    metadata = SnapshotMetadata(
      hasPendingWrites: event.snapshot.hasPendingWrites, isFromCache: event.snapshot.isFromCache,
      wasEverComplete: event.knowledge.wasEverComplete || !event.snapshot.isFromCache,
      serverTime: event.knowledge.readTime)
  }

  /// How many documents there are.
  public var count: Int { event.snapshot.documents.count }

  /// Whether there is no document.
  public var isEmpty: Bool { event.snapshot.documents.isEmpty }

  /// The documents in the query's order.
  public var documents: [QueryDocumentSnapshot] {
    documentsCache.withLock { documentsCache in
      if let documentsCache { return documentsCache }
      let (firestore, keys) = (query.firestore, event.snapshot.pendingPaths)
      let (isFromCache, knowledge) = (event.snapshot.isFromCache, event.knowledge)
      let documents = event.snapshot.documents.map {
        QueryDocumentSnapshot(
          firestore, $0, pendingPaths: keys, isFromCache: isFromCache, knowledge)
      }
      documentsCache = documents
      return documents
    }
  }

  /// What changed since the snapshot before: removed, then added, then modified documents, changes of
  /// mere metadata left out. In a first snapshot all documents are added.
  public var documentChanges: [DocumentChange] { documentChanges(includeMetadataChanges: false) }

  /// What changed since the snapshot before.
  ///
  /// - Parameter includeMetadataChanges: whether documents are among them that differ in their metadata
  ///   alone. The listener must have asked for such changes, too; otherwise it is logged as an error, and
  ///   they are left out.
  public func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange] {
    var changes: [ViewSnapshot.IndexedChange] = []
    do {
      changes = try event.snapshot.indexedChanges(includesMetadata: includeMetadataChanges)
    } catch {
      query.firestore.report(FirestoreError(error))
      changes = (try? event.snapshot.indexedChanges()) ?? []
    }
    return changes.map { DocumentChange(query.firestore, $0, event) }
  }
}

extension QuerySnapshot: Hashable, CustomStringConvertible {
  /// Whether query, metadata, documents and changes are the same.
  public static func == (a: QuerySnapshot, b: QuerySnapshot) -> Bool {
    if a === b { return true }
    guard a.query == b.query, a.metadata == b.metadata, a.count == b.count else { return false }
    return a.documents == b.documents && a.documentChanges == b.documentChanges
  }

  /// Feeds query and metadata.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(query)
    hasher.combine(metadata)
  }

  /// How many documents of which query.
  public var description: String { "\(count) documents of \(query)" }
}
