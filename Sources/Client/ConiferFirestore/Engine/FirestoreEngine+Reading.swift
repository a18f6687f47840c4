package import ConiferDocument
package import ConiferDocumentSync
import ConiferEngine

extension FirestoreEngine {
  /// Begins to listen.
  package func listen(
    _ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions,
    _ completion: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void
  ) {
    var options = options
    if isLocal { options.source = .default }
    registry.add(id, completion)
    steps.post(.listen(ListenerBeginning(id: id, query: query, options: options)))
  }

  /// Whether there is no cache to ask, but only a part of what an authority in this process has.
  private var isLocal: Bool { setup.localAuthority != nil }

  private func asked(_ source: GetSource) -> GetSource {
    isLocal && source == .cache ? .default : source
  }

  /// Ends a listener of either kind.
  package func unlisten(_ id: ListenerID) {
    registry.remove(id)
    run { [registry] loop in
      // A listener for all to be in sync may have been added in a step that came meanwhile.
      registry.remove(id)
      loop.listening.unlisten(id)
    }
  }

  /// Reads a document once.
  package func get(
    _ path: DocumentPath, _ source: GetSource,
    _ completion: @escaping @Sendable (Result<GotDocument, FirestoreError>) -> Void
  ) {
    let (source, completion) = (asked(source), untilEnd(completion))
    run(.writesBefore) { $0.gets.get(path, source, completion) }
  }

  /// Reads what a query gives once.
  package func get(
    _ query: DocumentQuery, _ source: GetSource,
    _ completion: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void
  ) {
    let (source, completion) = (asked(source), untilEnd(completion))
    run(.writesBefore) { $0.gets.get(query, source, completion) }
  }

  /// Computes aggregates of the documents that a query finds.
  package func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], _ source: GetSource,
    _ completion: @escaping @Sendable (Result<AggregateAnswer, FirestoreError>) -> Void
  ) {
    let (source, completion) = (asked(source), untilEnd(completion))
    run(.writesBefore) { $0.gets.aggregate(query, aggregates, source, completion) }
  }

  /// Begins to report that all listeners are in sync.
  package func listenInSync(_ id: ListenerID, _ completion: @escaping @Sendable () -> Void) {
    run { [registry] loop in
      registry.addInSync(id, completion)
      loop.outbox.addCall { registry.beginInSync(id) }
    }
  }
}
