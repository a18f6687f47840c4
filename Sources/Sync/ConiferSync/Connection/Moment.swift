/// Milliseconds: a reading of a clock, or a length of time.
public typealias Milliseconds = Int64

/// A moment as the device's two clocks tell it.
///
/// All that is timed goes by `uptime`, which never jumps; the wall time is only compared with the
/// server's.
public struct Moment: Hashable, Sendable {
  /// Milliseconds since some moment; never goes back.
  public var uptime: Milliseconds
  /// Milliseconds since 1970, as the device believes; may jump.
  public var wallTime: Milliseconds

  /// A moment.
  ///
  /// - Parameters:
  ///   - uptime: milliseconds since some moment.
  ///   - wallTime: milliseconds since 1970.
  public init(uptime: Milliseconds, wallTime: Milliseconds) {
    self.uptime = uptime
    self.wallTime = wallTime
  }
}

extension Milliseconds {
  /// The sum, at the end of the range where it would pass it.
  func adding(_ other: Milliseconds) -> Milliseconds {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, at the end of the range where it would pass it.
  func subtracting(_ other: Milliseconds) -> Milliseconds {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
