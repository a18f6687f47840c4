import ConiferDocumentSync
import ConiferEngine
import Synchronization

/// The closures of the app's listeners, for any thread: one that was removed is not called any more.
final class ListenerRegistry: Sendable {
  typealias Told = @Sendable (Result<ListenEvent, FirestoreError>) -> Void

  /// Who is told when all listeners are of one moment.
  private struct InSync {
    let told: @Sendable () -> Void
    /// Whether it was told the first time: rounds that ended before it began are not for it.
    var hasBegun = false
  }

  private struct State {
    var listeners: [ListenerID: Told] = [:]
    var inSync: [ListenerID: InSync] = [:]
    var isEnded = false
  }

  private let state = Mutex(State())

  init() {}

  /// Adds a listener.
  func add(_ id: ListenerID, _ told: @escaping Told) {
    state.withLock { if !$0.isEnded { $0.listeners[id] = told } }
  }

  /// Adds one that is told when all listeners are of one moment, from `beginInSync` on.
  func addInSync(_ id: ListenerID, _ told: @escaping @Sendable () -> Void) {
    state.withLock { if !$0.isEnded { $0.inSync[id] = InSync(told: told) } }
  }

  /// Removes a listener of either kind; unknown ones are ignored.
  func remove(_ id: ListenerID) {
    // Freed outside of the lock, as what a closure holds may call back.
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
    let told = state.withLock { state in
      if case .failure = result { return state.listeners.removeValue(forKey: id) }
      return state.listeners[id]
    }
    told?(result)
  }

  /// Tells one the first time that all listeners are of one moment, on the callback queue.
  func beginInSync(_ id: ListenerID) {
    let told = state.withLock { state in
      state.inSync[id]?.hasBegun = true
      return state.inSync[id]?.told
    }
    told?()
  }

  /// Tells all of them.
  func tellAllInSync() {
    let begun = state.withLock { state in
      state.inSync.filter(\.value.hasBegun).sorted { $0.key < $1.key }
    }
    for (_, listener) in begun { listener.told() }
  }
}
