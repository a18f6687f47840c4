/// Milliseconds: a reading of a clock, or a length of time.
package typealias Milliseconds = Int64

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
