/// The clock by which a database reads the time and waits; tests give one of their own.
public protocol EngineClock: Sendable {
  /// The device's time in milliseconds since 1970, which may jump.
  var wallTime: Int64 { get }
  /// Milliseconds that only ever grow.
  var now: Int64 { get }
  /// Calls once when `now` has reached a time, on any thread; at once when it has already.
  ///
  /// - Parameters:
  ///   - moment: when, on the scale of ``now``.
  ///   - body: what to call; it returns quickly.
  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void)
}

extension EngineClock {
  /// When a time of day, in seconds since 1970, will come on the scale of ``now``: now if it has, nil if it never will.
  package func moment(of time: Double) -> Int64? {
    let left = time * 1000 - Double(wallTime)
    guard left > 0 else { return now }
    // Some thousand years.
    guard left < 1e14 else { return nil }
    return now + Int64(left.rounded(.up))
  }
}
