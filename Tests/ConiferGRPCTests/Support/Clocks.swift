import ConiferEngine
import Synchronization

/// Time in which a short wait is over at once and a long one never is: whatever else the machine does, no client of a test takes
/// its server for unreachable.
final class PatientClock: EngineClock {
  private let longWait: Int64
  private let time = Mutex<Int64>(1_000_000)

  /// - Parameter longWait: what counts as long, in milliseconds: at first longer than a pause between attempts, shorter
  ///   than the ten seconds after which a client that waits for its server counts as offline.
  init(longWait: Int64 = 6_000) { self.longWait = longWait }

  var now: Int64 { time.withLock { $0 } }
  var wallTime: Int64 { SystemClock().wallTime }

  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
    let isShort = time.withLock { time in
      guard moment - time < longWait else { return false }
      time = max(time, moment)
      return true
    }
    if isShort { Task.detached { body() } }
  }
}

/// Time that moves when a test says so.
final class ScriptedClock: EngineClock {
  private struct State {
    var now: Int64 = 1_000_000
    var wakes: [(moment: Int64, body: @Sendable () -> Void)] = []
  }

  private let state = Mutex(State())

  var now: Int64 { state.withLock { $0.now } }
  var wallTime: Int64 { SystemClock().wallTime }

  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
    let isDue = state.withLock { state in
      if moment <= state.now { return true }
      state.wakes.append((moment, body))
      return false
    }
    if isDue { body() }
  }

  /// So much time passes; who is to be woken by then is.
  func advance(by milliseconds: Int64) {
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

/// Waits that end when a test says so.
final class ScriptedSleep: Sendable {
  private struct State {
    var last = 0
    var waiting: [Int: (length: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
    var cancelled: Set<Int> = []
  }

  private let state = Mutex(State())

  /// How long those wait who wait now.
  var lengths: [Duration] { state.withLock { $0.waiting.values.map(\.length) } }

  func sleep(_ length: Duration) async throws {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if state.cancelled.contains(number) { return true }
          state.waiting[number] = (length, continuation)
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        state.cancelled.insert(number)
        return state.waiting.removeValue(forKey: number)
      }
      waiting?.continuation.resume(throwing: CancellationError())
    }
  }

  /// The waits of one length are over.
  func end(_ length: Duration) {
    let ended = state.withLock { state in
      let ended = state.waiting.filter { $0.value.length == length }
      for number in ended.keys { state.waiting[number] = nil }
      return ended.values.map(\.continuation)
    }
    for continuation in ended { continuation.resume() }
  }
}
