package import ConiferDocument
package import ConiferWire

// What is known of what is listened to.
extension ListenMachine {
  /// The queries that listen by each target.
  package var queriesByTarget: [TargetID: [DocumentQuery]] {
    viewsByTarget.mapValues { $0.compactMap { listened[$0]?.query } }
  }

  /// Whether a target has a listener.
  package func isListened(_ target: TargetID) -> Bool { viewsByTarget[target] != nil }

  /// The number of the target that a listener has; nil for one of the store alone, or none.
  package func target(of listener: ListenerID) -> TargetID? {
    guard let number = viewOf[listener], let item = listened[number],
      item.listeners.contains(where: { $0.id == listener && $0.source == .default })
    else { return nil }
    return item.target
  }

  /// What a listener listens to; nil when there is no such listener.
  package func query(of listener: ListenerID) -> DocumentQuery? {
    viewOf[listener].flatMap { listened[$0]?.query }
  }

  /// Whether a query shows exactly the documents that match on the server.
  package func isSynced(_ query: DocumentQuery) -> Bool {
    views[query].map { isSynced($0) } ?? false
  }

  /// Up to when a query of a target shows all that the server says it gives; nil when the server is not asked for it, or has
  /// not said all of it on this stream.
  package func completeness(of target: TargetID) -> Timestamp? {
    guard viewsByTarget[target]?.contains(where: { isSynced($0) }) == true else { return nil }
    return watch.completeness(of: target)
  }

  private func isSynced(_ number: ViewNumber) -> Bool {
    guard let item = listened[number], item.refill == nil else { return false }
    return item.view.isSynced
  }

  /// Whether a view shows a document, or the server says that it matches a query.
  package func needs(_ path: DocumentPath) -> Bool {
    var isNeeded = false
    sources.forEach(affectedBy: [Document(path, .unseen)]) { number, _ in
      guard !isNeeded, let view = listened[number]?.view else { return }
      isNeeded = view.documents[path] != nil || view.matchedPaths.contains(path)
    }
    return isNeeded
  }

  /// A query that shows a document of a source, or that the server says such a document matches; nil for none.
  package func user(of source: DocumentQuery.Source) -> DocumentQuery? {
    views.keys.first { documents(of: $0).contains(where: source.contains) }
  }

  /// The documents that a query shows, and those that the server says match it.
  package func documents(of query: DocumentQuery) -> Set<DocumentPath> {
    guard let number = views[query], let view = listened[number]?.view else { return [] }
    return view.matchedPaths.hashed.union(view.documents.lazy.map(\.path))
  }

  /// Where the queries that are listened to look for documents.
  package var listenedSources: Set<DocumentQuery.Source> { sources.all }
}
