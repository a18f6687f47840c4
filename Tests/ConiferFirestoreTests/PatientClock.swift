import ConiferEngine
import Synchronization

/// Time in which a short wait is over at once and a long one never is: whatever else the machine does, no client of a test takes
/// its server for unreachable.
final class PatientClock: EngineClock {
  private let longWait: Int64
  private let time = Mutex<Int64>(1_000_000)

  /// - Parameter longWait: what counts as long, in milliseconds: longer than a pause between the first attempts, shorter than
  ///   the ten seconds after which a client that waits for its server counts as offline, unless told.
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
