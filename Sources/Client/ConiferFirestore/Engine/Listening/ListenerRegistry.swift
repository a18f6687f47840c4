import ConiferDocumentSync
import ConiferEngine
import Synchronization

/// The closures of the app's listeners, for any thread: one that was removed is not called any more.
final class ListenerRegistry: Sendable {
  typealias Handler = @Sendable (Result<ListenEvent, FirestoreError>) -> Void

  /// Who is told when all listeners are of one moment.
  private struct InSync {
    let handler: @Sendable () -> Void
    /// Whether it was told the first time: rounds that ended before it began are not for it.
    var hasBegun = false
  }

  private struct State {
    var listeners: [ListenerID: Handler] = [:]
    var inSync: [ListenerID: InSync] = [:]
    var isEnded = false
  }

  private let state = Mutex(State())

  init() {}

  /// Adds a listener.
  func add(_ id: ListenerID, _ handler: @escaping Handler) {
    state.withLock { if !$0.isEnded { $0.listeners[id] = handler } }
  }

  /// Adds one that is told when all listeners are of one moment, from `beginInSync` on.
  func addInSync(_ id: ListenerID, _ handler: @escaping @Sendable () -> Void) {
    state.withLock { if !$0.isEnded { $0.inSync[id] = InSync(handler: handler) } }
  }

  /// Removes a listener of either kind; unknown ones are ignored.
  func remove(_ id: ListenerID) {
    // The closures are freed outside of the lock, because what they hold may call back.
    let removed = state.withLock { state in
      (state.listeners.removeValue(forKey: id), state.inSync.removeValue(forKey: id))
    }
    _ = removed
  }

  /// No listener is called any more.
  func end() {
    let removed = state.withLock { state in
      defer { state = State(isEnded: true) }
      return state
    }
    _ = removed
  }

  /// Whether the engine's end has begun: the app is told nothing any more.
  var isEnded: Bool { state.withLock { $0.isEnded } }

  /// Whether somebody waits to hear that all listeners are of one moment.
  var hasInSync: Bool { state.withLock { !$0.inSync.isEmpty } }

  /// Tells a listener, on the callback queue.
  func tell(_ id: ListenerID, _ result: Result<ListenEvent, FirestoreError>) {
    let handler = state.withLock { state in
      if case .failure = result { return state.listeners.removeValue(forKey: id) }
      return state.listeners[id]
    }
    handler?(result)
  }

  /// Tells one the first time that all listeners are of one moment, on the callback queue.
  func beginInSync(_ id: ListenerID) {
    let handler = state.withLock { state in
      state.inSync[id]?.hasBegun = true
      return state.inSync[id]?.handler
    }
    handler?()
  }

  /// Tells all of them.
  func tellAllInSync() {
    let begun = state.withLock { state in
      state.inSync.filter(\.value.hasBegun).sorted { $0.key < $1.key }
    }
    for (_, listener) in begun { listener.handler() }
  }
}
