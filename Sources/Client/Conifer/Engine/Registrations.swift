import ConiferQuery
import ConiferSync
import ConiferTree
import Synchronization

/// A listener of the app, with its closures.
final class Registration: Sendable {
  let id: ListenerID
  /// What it listens to, as the app asked for it.
  let target: QueryTarget
  let kinds: DataEvent.Kinds
  /// Whether it ends with its first event.
  let isOnce: Bool
  private let event: @Sendable (DataEvent) -> Void
  private let cancelled: (@Sendable (DatabaseError) -> Void)?
  /// Called when the app ends it together with others.
  private let removed: (@Sendable () -> Void)?
  private let isEnded = Atomic(false)

  init(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds, isOnce: Bool,
    event: @escaping @Sendable (DataEvent) -> Void,
    cancel: (@Sendable (DatabaseError) -> Void)?, removed: (@Sendable () -> Void)? = nil
  ) {
    self.id = id
    self.target = target
    self.kinds = kinds
    self.isOnce = isOnce
    self.event = event
    self.cancelled = cancel
    self.removed = removed
  }

  /// Ends it: no closure of it is called after that; false when it had ended.
  @discardableResult
  func end() -> Bool { !isEnded.exchange(true, ordering: .acquiringAndReleasing) }

  /// Hands an event to the app, unless the listener has ended; on the callback queue.
  func raise(_ raised: DataEvent) {
    if isOnce {
      guard end() else { return }
    } else if isEnded.load(ordering: .acquiring) {
      return
    }
    event(raised)
  }

  /// Ends it as one of all that listen to its target.
  func remove() {
    if end() { removed?() }
  }

  /// Ends it with an error; on the callback queue.
  func cancel(_ error: DatabaseError) {
    if end() { cancelled?(error) }
  }
}

/// The closures of the app's listeners, for any thread: whoever ends a listener sees it end at once, while the
/// `SyncTree`, which knows what each listens to, ends it with a step.
final class Registrations: Sendable {
  private let all = Mutex<[ListenerID: Registration]>([:])

  func add(_ registration: Registration) {
    all.withLock { $0[registration.id] = registration }
  }

  /// Forgets a listener and ends it.
  func end(_ id: ListenerID) {
    all.withLock { $0.removeValue(forKey: id) }?.end()
  }

  /// Forgets a listener, which may still have events under way.
  @discardableResult
  func forget(_ id: ListenerID) -> Registration? {
    all.withLock { $0.removeValue(forKey: id) }
  }

  /// Forgets and ends the listeners of a target; of a default one, all at its path.
  func endAll(_ target: QueryTarget) {
    let ended = all.withLock { all in
      let ended = all.values.filter {
        $0.target.path == target.path && (target.spec.isDefault || $0.target == target)
      }
      for registration in ended { all[registration.id] = nil }
      return ended
    }
    for registration in ended { registration.remove() }
  }

  subscript(_ id: ListenerID) -> Registration? { all.withLock { $0[id] } }

  /// All listeners, in the order of their numbers.
  var sorted: [Registration] {
    all.withLock { Array($0.values) }.sorted { $0.id.number < $1.id.number }
  }
}
