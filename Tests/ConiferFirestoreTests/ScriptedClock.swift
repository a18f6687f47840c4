import ConiferEngine
import Synchronization

/// Time that moves when a test says so.
final class ScriptedClock: EngineClock {
  private struct State {
    var now: Int64 = 1_000_000
    var wakes: [(moment: Int64, body: @Sendable () -> Void)] = []
  }

  private let state = Mutex(State())
  private let start: Int64

  /// A clock that begins at a time of the day, in milliseconds since 1970; at first in 2023.
  init(at start: Int64 = 1_700_000_000_000) { self.start = start }

  var now: Int64 { state.withLock { $0.now } }
  var wallTime: Int64 { start + now }

  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
    let isDue = state.withLock { state in
      if moment <= state.now { return true }
      state.wakes.append((moment, body))
      return false
    }
    if isDue { body() }
  }

  /// So much time passes; who is to be woken by then is.
  func advance(by milliseconds: Int64) { advance(to: now + milliseconds) }

  /// The time comes; who is to be woken by then is.
  func advance(to moment: Int64) {
    let due = state.withLock { state in
      state.now = max(state.now, moment)
      let now = state.now
      let due = state.wakes.filter { $0.moment <= now }
      state.wakes.removeAll { $0.moment <= now }
      return due
    }
    for wake in due.sorted(by: { $0.moment < $1.moment }) { wake.body() }
  }
}
