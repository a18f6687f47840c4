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
