import Synchronization

/// What waits to be done by an engine, in the order in which it was asked for.
package final class Inbox<Step: Sendable>: Sendable {
  private struct State {
    var steps: [Step] = []
    var isPumping = false
  }

  private let state = Mutex(State())

  package init() {}

  /// Adds a step.
  ///
  /// - Returns: whether nobody works on the steps, so that the caller must begin to.
  package func add(_ step: Step) -> Bool {
    state.withLock { state in
      state.steps.append(step)
      defer { state.isPumping = true }
      return !state.isPumping
    }
  }

  /// Takes all steps there are; nil when there are none, and nobody works on them from then on.
  package func take() -> [Step]? {
    state.withLock { state in
      guard !state.steps.isEmpty else {
        state.isPumping = false
        return nil
      }
      defer { state.steps = [] }
      return state.steps
    }
  }
}
