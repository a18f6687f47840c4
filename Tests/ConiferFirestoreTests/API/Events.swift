import ConiferDocument
import Testing

@testable import ConiferDocumentSync
@testable import ConiferFirestore

extension Recorded {
  /// What a listener of a query is told when these are its documents.
  ///
  /// - Parameters:
  ///   - documents: fields by id, in the collection `rooms`.
  ///   - before: the event before; nil for the first one.
  func event(
    _ query: DocumentQuery, _ documents: [String: MapValue], pending: Set<String> = [],
    isFromCache: Bool = false, includesMetadata: Bool = false, after before: ListenEvent? = nil,
    knowledge: QueryKnowledge = QueryKnowledge()
  ) throws -> ListenEvent {
    var set = DocumentSet(for: query)
    for (id, fields) in documents {
      set.insert(
        Document(
          try DocumentPath("rooms/\(id)"), .found(fields), version: try .init(microseconds: 1),
          readTime: try .init(microseconds: 5), writes: pending.contains(id) ? .pending : .synced))
    }
    let snapshot = ViewSnapshot(
      query: query, documents: set, oldDocuments: DocumentSet(for: query), changes: [],
      pendingPaths: PathSet(try pending.map { try DocumentPath("rooms/\($0)") }),
      isFromCache: isFromCache, syncStateChanged: before == nil,
      excludesMetadataChanges: !includesMetadata, hasCachedResults: false)
    return ListenEvent(
      snapshot: before.map { snapshot.since($0.snapshot) } ?? snapshot.initial,
      knowledge: knowledge)
  }

  /// Tells the newest listener.
  func tell(_ event: ListenEvent) { engine.listens.last?.told(.success(event)) }
}
