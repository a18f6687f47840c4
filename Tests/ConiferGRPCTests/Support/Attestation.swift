import ConiferEngine
import Synchronization
import TestSupport

/// A provider whose tokens are numbered; one that is forced is another one.
final class Attestation: AppCheckProvider {
  struct Unavailable: Error {}

  private struct State {
    var number = 1
    var isFailing = false
    var isHolding = false
    var held: [CheckedContinuation<Void, Never>] = []
    var asked: [Bool] = []
  }

  private let state = Mutex(State())
  private let expiry: Int64?

  init(expiry: Int64? = nil) { self.expiry = expiry }

  /// Whether each question was for another token.
  var asked: [Bool] { state.withLock { $0.asked } }
  func fail() { state.withLock { $0.isFailing = true } }
  func recover() { state.withLock { $0.isFailing = false } }
  /// Has another token from now on.
  func change() { state.withLock { $0.number += 1 } }
  func hold() { state.withLock { $0.isHolding = true } }
  /// Answers the questions that come from now on.
  func stopHolding() { state.withLock { $0.isHolding = false } }

  /// Waits until it was asked so often.
  func waits(for count: Int) async throws {
    try await eventually("The provider was asked fewer than \(count) times.") {
      asked.count >= count
    }
  }

  /// Answers all questions.
  func release() {
    let held = state.withLock { state in
      defer { (state.held, state.isHolding) = ([], false) }
      return state.held
    }
    for continuation in held { continuation.resume() }
  }

  func token(forcingRefresh: Bool) async throws -> AppCheckToken {
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        state.asked.append(forcingRefresh)
        if state.isHolding { state.held.append(continuation) }
        return !state.isHolding
      }
      if goesOn { continuation.resume() }
    }
    return try state.withLock { state in
      if state.isFailing { throw Unavailable() }
      if forcingRefresh { state.number += 1 }
      return AppCheckToken("app-\(state.number)", expiry: expiry)
    }
  }
}

/// Two clocks that a test moves: the time of day, which jumps, and the one that never does.
final class TestClock: EngineClock {
  private let time: Mutex<(wall: Int64, now: Int64)>

  init(_ time: Int64) { self.time = Mutex((time, 1_000_000)) }

  var now: Int64 { time.withLock { $0.now } }
  var wallTime: Int64 {
    get { time.withLock { $0.wall } }
    set { time.withLock { $0.wall = newValue } }
  }
  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {}

  /// So much time passes on both.
  func pass(_ milliseconds: Int64) {
    time.withLock { time in
      time.wall += milliseconds
      time.now += milliseconds
    }
  }
}
