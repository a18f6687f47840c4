import ConiferDocument
import ConiferDocumentSync

/// The numbers of a case's listeners.
struct ScenarioListeners {
  private var newest: ListenerID = 0
  private var listeners: [(id: ListenerID, query: DocumentQuery, source: ListenOptions.Source)] =
    []
  private var inSync: [ListenerID] = []

  /// Somebody begins to listen to a query.
  mutating func add(_ query: DocumentQuery, _ source: ListenOptions.Source) -> ListenerID {
    newest += 1
    listeners.append((newest, query, source))
    return newest
  }

  /// The last listener of a query ends.
  ///
  /// - Throws: when there is none.
  mutating func remove(
    _ query: DocumentQuery
  ) throws(ScenarioError) -> (id: ListenerID, source: ListenOptions.Source) {
    guard let last = listeners.lastIndex(where: { $0.query == query }) else {
      throw ScenarioError("nobody listens to \(query.canonical)")
    }
    let listener = listeners.remove(at: last)
    return (listener.id, listener.source)
  }

  /// Somebody wants to know when all listeners are of one moment.
  mutating func addInSync() -> ListenerID {
    newest += 1
    inSync.append(newest)
    return newest
  }

  /// The last one who wants to know that ends; nil when there is none.
  mutating func removeInSync() -> ListenerID? { inSync.popLast() }

  /// The process is over.
  mutating func removeAll() { (listeners, inSync) = ([], []) }
}
