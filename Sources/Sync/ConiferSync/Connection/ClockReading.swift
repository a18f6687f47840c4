/// Milliseconds: a reading of a clock, or a length of time.
package typealias Milliseconds = Int64

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

extension Milliseconds {
  /// The sum, clamped to the range.
  func adding(_ other: Milliseconds) -> Milliseconds {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, clamped to the range.
  func subtracting(_ other: Milliseconds) -> Milliseconds {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
