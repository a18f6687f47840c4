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
