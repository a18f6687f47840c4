/// What the device's two clocks show at one time.
///
/// All timers go by `uptime`, which never jumps; the wall time is only compared with the server's.
package struct ClockReading: Hashable, Sendable {
  /// Milliseconds since a fixed time, such as the device's start; never goes back.
  package var uptime: Milliseconds
  /// Milliseconds since 1970 by the device's clock; may jump.
  package var wallTime: Milliseconds

  /// A reading of both clocks.
  ///
  /// - Parameters:
  ///   - uptime: milliseconds since a fixed time.
  ///   - wallTime: milliseconds since 1970.
  package init(uptime: Milliseconds, wallTime: Milliseconds) {
    self.uptime = uptime
    self.wallTime = wallTime
  }
}
