/// A number as sign and magnitude, so that integers and doubles compare exactly.
///
/// The magnitude has 77 bits: the 63 bits of the nearest double towards zero, whose order is the
/// order of magnitudes; then the 10 bits by which an integer is more exact than that double; then 4
/// zeros. The 10 bits are zero for doubles and for integers of at most 53 bits.
struct ExactNumber {
  enum Sign { case nan, negative, zero, positive }

  /// The number of seven-bit groups of a magnitude.
  static let groups = 11

  let sign: Sign
  let magnitude: UInt128

  init(_ value: Double) {
    self.init(isNegative: value < 0, double: value.magnitude, beyond: 0)
  }

  init(_ value: Int64) {
    let magnitude = value.magnitude
    let excess = max(0, 64 - magnitude.leadingZeroBitCount - 53)
    let whole = (magnitude >> UInt64(excess)) << UInt64(excess)
    self.init(isNegative: value < 0, double: Double(whole), beyond: magnitude - whole)
  }

  private init(isNegative: Bool, double: Double, beyond: UInt64) {
    sign = double.isNaN ? .nan : double == 0 ? .zero : isNegative ? .negative : .positive
    magnitude = UInt128(double.bitPattern) << 14 | UInt128(beyond) << 4
  }
}
