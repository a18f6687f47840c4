import ConiferKeyValue
import ConiferLeafStore
import Synchronization

/// Who is told when a report of damage was stored; what nobody was told of is told to the next one.
final class IncidentObserver: Sendable {
  private struct State {
    var handler: (@Sendable () -> Void)?
    var hasUntold = false
    /// The newest report of the store itself that was stored while there was no handler.
    var untoldOfStore: Incident?
  }

  private let state = Mutex(State())

  /// Replaces the handler, which is called at once when there is something untold.
  func set(_ handler: (@Sendable () -> Void)?) {
    let isUntold = state.withLock { state in
      state.handler = handler
      guard handler != nil, state.hasUntold else { return false }
      (state.hasUntold, state.untoldOfStore) = (false, nil)
      return true
    }
    if isUntold { handler?() }
  }

  /// Reports were stored, some of them of the store itself.
  func tell(_ ofStore: [Incident]) {
    let handler = state.withLock { state in
      if state.handler == nil {
        state.hasUntold = true
        state.untoldOfStore = ofStore.last ?? state.untoldOfStore
      }
      return state.handler
    }
    handler?()
  }

  /// The newest report of the store itself that nobody was told of, once.
  func takeUntoldOfStore() -> Incident? {
    state.withLock { state in
      defer { state.untoldOfStore = nil }
      return state.untoldOfStore
    }
  }
}

/// A backend that knows what it reported while nobody observed it.
package protocol UntoldIncidents: StorageBackend {
  /// The newest report of the store itself that was stored while nobody observed incidents; given once.
  func takeUntoldOfStore() -> Incident?
}

extension PackedBackend: UntoldIncidents {
  package func takeUntoldOfStore() -> Incident? { engine.incidentObserver.takeUntoldOfStore() }
}

extension StorageBackend {
  /// The newest report of the store itself, when opening it stored one; for whoever opens it and
  /// observes no incidents.
  package func incidentOfOpening() -> Incident? {
    (self as? any UntoldIncidents)?.takeUntoldOfStore()
  }
}
