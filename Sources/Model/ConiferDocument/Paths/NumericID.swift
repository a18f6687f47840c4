/// Numeric ids: segments of the form `__id7__`, which exist in databases that were Datastore
/// databases before.
package enum NumericID {
  /// The number of a segment; none when it is an ordinary text.
  ///
  /// A number has one spelling: leading zeros, a plus sign and minus zero make an ordinary text.
  static func number(of segment: UnsafeBufferPointer<UInt8>) -> Int64? {
    // `__id` and `__` around at least one digit.
    guard segment.count >= 7, segment[0] == 0x5F, segment[1] == 0x5F,
      segment[2] == UInt8(ascii: "i"), segment[3] == UInt8(ascii: "d"),
      segment[segment.count - 1] == 0x5F, segment[segment.count - 2] == 0x5F
    else { return nil }
    let end = segment.count - 2
    let isNegative = segment[4] == UInt8(ascii: "-")
    var i = isNegative ? 5 : 4
    guard i < end else { return nil }
    if segment[i] == UInt8(ascii: "0"), end - i > 1 || isNegative { return nil }
    var magnitude: UInt64 = 0
    while i < end {
      let digit = segment[i] &- 0x30
      guard digit < 10 else { return nil }
      let (product, overflows) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, carries) = product.addingReportingOverflow(UInt64(digit))
      guard !overflows, !carries else { return nil }
      magnitude = sum
      i += 1
    }
    guard isNegative else { return Int64(exactly: magnitude) }
    return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
  }

  package static func number(of segment: some StringProtocol) -> Int64? {
    String(segment).lendUTF8 { number(of: $0) }
  }

  /// The segment of a number.
  package static func segment(of number: Int64) -> String { "__id\(number)__" }
}
