import ConiferDocument
import ConiferDocumentSync

/// The numbers of a case's listeners.
struct ScenarioListeners {
  private var newest: ListenerID = 0
  private var listeners: [(id: ListenerID, query: DocumentQuery)] = []
  private var inSync: [ListenerID] = []

  /// Somebody begins to listen to a query.
  mutating func add(_ query: DocumentQuery) -> ListenerID {
    newest += 1
    listeners.append((newest, query))
    return newest
  }

  /// The last listener of a query ends; nil when there is none.
  mutating func remove(_ query: DocumentQuery) -> ListenerID? {
    listeners.lastIndex { $0.query == query }.map { listeners.remove(at: $0).id }
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
