import ConiferDocumentSync

/// The engine's own listeners: gets, until their first event, and kept queries. They are called at once, on the
/// engine's thread.
final class InnerListeners {
  typealias Told = (Result<ListenEvent, FirestoreError>) -> Void

  private var listeners: [ListenerID: Told] = [:]
  /// Those that have heard what they waited for.
  private var done: [ListenerID] = []
  /// The app's numbers are lower.
  private var last: ListenerID = 1 << 63

  /// Adds a listener; gives its number.
  func add(_ told: @escaping Told) -> ListenerID {
    last += 1
    listeners[last] = told
    return last
  }

  /// Adds one that waits for its first event alone.
  func addOnce(_ told: @escaping Told) -> ListenerID {
    let id = last + 1
    return add { [self] result in
      listeners[id] = { _ in }
      done.append(id)
      told(result)
    }
  }

  /// Tells a listener.
  ///
  /// - Returns: false when it is none of these.
  func tell(_ id: ListenerID, _ result: Result<ListenEvent, FirestoreError>) -> Bool {
    guard let told = listeners[id] else { return false }
    if case .failure = result { listeners[id] = nil }
    told(result)
    return true
  }

  /// A listener has ended.
  func remove(_ id: ListenerID) { listeners[id] = nil }

  /// Takes one that has heard what it waited for.
  func takeDone() -> ListenerID? { done.popLast() }

  /// All have ended.
  func removeAll() { listeners = [:] }
}
