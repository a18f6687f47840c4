import ConiferEngine
import Testing

/// The device's own clock.
@Suite struct SystemClockTests {
  /// Where the wait is longer than the system is asked for at once.
  @Test(arguments: [1, 7, 1_000] as [Int64])
  func `Calls when the time has come and not before`(longestWait: Int64) async {
    let clock = SystemClock(longestWait: longestWait)
    let moment = clock.now + 60
    let called = await withCheckedContinuation { continuation in
      clock.wake(at: moment) { continuation.resume(returning: clock.now) }
    }
    #expect(called >= moment)
  }

  @Test(arguments: [Int64.min, 0]) func `Calls at once when the time has gone by`(
    moment: Int64
  ) async {
    let clock = SystemClock()
    await withCheckedContinuation { continuation in
      clock.wake(at: moment) { continuation.resume() }
    }
  }

  /// A time that never comes does not trap.
  @Test func `Takes any time`() { SystemClock().wake(at: .max) {} }
}
