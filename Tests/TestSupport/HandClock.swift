import Synchronization

/// Time in milliseconds that moves when a test says so.
package final class HandClock: Sendable {
  private struct State {
    var now: Int64 = 1_000
    var wakes: [(moment: Int64, body: @Sendable () -> Void)] = []
  }

  private let state = Mutex(State())

  package init() {}

  package var now: Int64 { state.withLock { $0.now } }

  /// How many wait for a time.
  package var waiting: Int { state.withLock { $0.wakes.count } }

  /// Calls once a time has come.
  package func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
    let isDue = state.withLock { state in
      if moment <= state.now { return true }
      state.wakes.append((moment, body))
      return false
    }
    if isDue { body() }
  }

  /// So much time passes; who is to be woken by then is.
  package func advance(by milliseconds: Int64) {
    let due = state.withLock { state in
      state.now += milliseconds
      let now = state.now
      let due = state.wakes.filter { $0.moment <= now }
      state.wakes.removeAll { $0.moment <= now }
      return due
    }
    for wake in due.sorted(by: { $0.moment < $1.moment }) { wake.body() }
  }
}
