import ConiferDocumentSync

/// The engine's own listeners: gets, until their first event, and kept queries. They are called at once, on the
/// engine's thread.
final class InnerListeners {
  typealias Handler = (Result<ListenEvent, FirestoreError>) -> Void

  private var listeners: [ListenerID: Handler] = [:]
  /// The listeners that have had the event they waited for.
  private var done: [ListenerID] = []
  /// Numbers of the app's listeners are lower.
  private var last: ListenerID = 1 << 63

  /// Adds a listener; gives its number.
  func add(_ handler: @escaping Handler) -> ListenerID {
    last += 1
    listeners[last] = handler
    return last
  }

  /// Adds one that waits for its first event alone.
  func addOnce(_ handler: @escaping Handler) -> ListenerID {
    let id = last + 1
    return add { [self] result in
      listeners[id] = { _ in }
      done.append(id)
      handler(result)
    }
  }

  /// Tells a listener.
  ///
  /// - Returns: false when it is none of these.
  func tell(_ id: ListenerID, _ result: Result<ListenEvent, FirestoreError>) -> Bool {
    guard let handler = listeners[id] else { return false }
    if case .failure = result { listeners[id] = nil }
    handler(result)
    return true
  }

  /// A listener has ended.
  func remove(_ id: ListenerID) { listeners[id] = nil }

  /// Takes one that has heard what it waited for.
  func takeDone() -> ListenerID? { done.popLast() }

  /// All have ended.
  func removeAll() { listeners = [:] }
}
