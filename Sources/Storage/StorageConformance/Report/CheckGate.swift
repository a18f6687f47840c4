internal import Synchronization

/// Lets only a few checks of a process run at a time.
///
/// A test library starts all checks at once. Each would keep its stores, records of file calls and
/// images until the last one is done: gigabytes, without saving time.
final class CheckGate: Sendable {
  /// The gate of all checks: two for each processor, since checks also wait for disks and
  /// processes.
  static let shared = CheckGate(2 * System.processors)

  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// How many waiting checks were let in.
    var served = 0
  }
  private let state: Mutex<State>

  init(_ width: Int) { state = Mutex(State(free: max(1, width))) }

  /// Runs a closure as soon as there is room, first come first served.
  func pass<R>(_ body: () async throws -> R) async rethrows -> R {
    await enter()
    defer { leave() }
    return try await body()
  }

  private func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free > 0 else {
          state.waiting.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  private func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.served < state.waiting.count else {
        state.waiting = []
        state.served = 0
        state.free += 1
        return nil
      }
      state.served += 1
      return state.waiting[state.served - 1]
    }
    next?.resume()
  }
}
