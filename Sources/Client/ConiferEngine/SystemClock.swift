import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The device's own clock, which databases use unless they are given another one.
public struct SystemClock: EngineClock {
  private let queue = DispatchQueue(label: "conifer.clock")
  /// The longest wait that the system is asked for, in milliseconds.
  private let longestWait: Int64

  /// The device's own clock.
  public init() { self.init(longestWait: 86_400_000) }

  package init(longestWait: Int64) { self.longestWait = longestWait }

  /// The device's time in milliseconds since 1970.
  public var wallTime: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Milliseconds since the device started.
  public var now: Int64 { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) }

  /// Calls once when `now` has reached a time.
  public func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
    let now = now
    guard moment > now else { return queue.async(execute: body) }
    // A time may be so far away that the difference overflows.
    let (wait, isTooFar) = moment.subtractingReportingOverflow(now)
    let next = isTooFar ? longestWait : min(wait, longestWait)
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(next))) { wake(at: moment, body) }
  }
}
