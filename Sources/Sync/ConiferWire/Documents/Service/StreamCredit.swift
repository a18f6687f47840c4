import Synchronization

/// How many more messages a stream may hand on; who has none left waits.
package final class StreamCredit: Sendable {
  private struct State {
    var left: Int
    var waiting: CheckedContinuation<Void, Never>?
    var hasEnded = false
  }

  private let state: Mutex<State>

  package init(_ messages: Int) { state = Mutex(State(left: messages)) }

  /// Waits until a message may be handed on, and takes it from the rest; one waits at a time.
  package func take() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isFree = state.withLock { state in
          state.left -= 1
          if state.left >= 0 || state.hasEnded { return true }
          state.waiting = continuation
          return false
        }
        if isFree { continuation.resume() }
      }
    } onCancel: {
      end()
    }
  }

  /// One more message may come.
  package func grant() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.left += 1
      guard state.left >= 0 else { return nil }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }

  /// Nobody waits any more.
  package func end() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.hasEnded = true
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }
}
