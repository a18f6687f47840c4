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

  /// The device's own clock.
  public init() {}

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
    let wait = max(0, moment - now)
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(min(wait, 86_400_000))), execute: body)
  }
}
