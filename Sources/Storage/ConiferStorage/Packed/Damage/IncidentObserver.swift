package import ConiferKeyValue
import ConiferLeafStore
import Synchronization

/// Who is told when a report of damage was stored; what nobody was told of is told to the next one.
final class IncidentObserver: Sendable {
  private struct State {
    var handler: (@Sendable () -> Void)?
    var hasUntold = false
  }

  private let state = Mutex(State())

  /// Replaces the handler, which is called at once when there is something untold.
  func set(_ handler: (@Sendable () -> Void)?) {
    let isUntold = state.withLock { state in
      state.handler = handler
      guard handler != nil, state.hasUntold else { return false }
      state.hasUntold = false
      return true
    }
    if isUntold { handler?() }
  }

  /// A report was stored.
  func tell() {
    let handler = state.withLock { state in
      if state.handler == nil { state.hasUntold = true }
      return state.handler
    }
    handler?()
  }
}

extension StorageBackend {
  /// The newest report of the store itself, when opening it stored a report; for whoever opens it and
  /// observes no incidents.
  package func incidentOfOpening() throws(StoreError) -> Incident? {
    let seen = Seen()
    observeIncidents { seen.any.store(true, ordering: .relaxed) }
    observeIncidents(nil)
    guard seen.any.load(ordering: .relaxed) else { return nil }
    return try read { (view) throws(StoreError) in
      try view.incidents().last { $0.tree.rawValue == 0 }
    }
  }
}

private final class Seen: Sendable {
  let any = Atomic(false)
}
