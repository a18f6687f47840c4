package import ConiferDocument
package import ConiferDocumentSync
import ConiferEngine

extension FirestoreEngine {
  /// Begins to listen.
  package func listen(
    _ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions,
    _ told: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void
  ) {
    registry.add(id, told)
    run { $0.listening.listen(id, query, options) }
  }

  /// Ends a listener of either kind.
  package func unlisten(_ id: ListenerID) {
    registry.remove(id)
    run { [registry] loop in
      // One of those who wait for all to be in sync may have begun in a step that came meanwhile.
      registry.remove(id)
      loop.listening.unlisten(id)
    }
  }

  /// Reads a document once.
  package func get(
    _ path: DocumentPath, _ source: GetSource,
    _ told: @escaping @Sendable (Result<GotDocument, FirestoreError>) -> Void
  ) {
    let told = untilEnd(told)
    run(.writesBefore) { $0.gets.get(path, source, told) }
  }

  /// Reads what a query gives once.
  package func get(
    _ query: DocumentQuery, _ source: GetSource,
    _ told: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void
  ) {
    let told = untilEnd(told)
    run(.writesBefore) { $0.gets.get(query, source, told) }
  }

  /// Computes aggregates of the documents that a query finds.
  package func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], _ source: GetSource,
    _ told: @escaping @Sendable (Result<AggregateAnswer, FirestoreError>) -> Void
  ) {
    let told = untilEnd(told)
    run(.writesBefore) { $0.gets.aggregate(query, aggregates, source, told) }
  }

  /// Begins to report that all listeners are in sync.
  package func listenInSync(_ id: ListenerID, _ told: @escaping @Sendable () -> Void) {
    run { [registry] loop in
      registry.addInSync(id, told)
      loop.outbox.addCall { registry.beginInSync(id) }
    }
  }
}
