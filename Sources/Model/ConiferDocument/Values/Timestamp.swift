/// A point in time from the year 1 to the end of the year 9999, to the nanosecond.
///
/// Values of fields are kept to the microsecond, as the service keeps them; see `microseconds`.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// The seconds since 1970-01-01T00:00:00Z.
  public let seconds: Int64
  /// The nanoseconds after that second, from 0 to 999,999,999.
  public let nanoseconds: Int32

  /// The seconds that a timestamp may have.
  public static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// 1970-01-01T00:00:00Z, which is also the version of a document that has none.
  public static let zero = Timestamp(unchecked: 0, 0)

  package init(unchecked seconds: Int64, _ nanoseconds: Int32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// A timestamp.
  ///
  /// - Parameters:
  ///   - seconds: seconds since 1970, from year 1 to 9999.
  ///   - nanoseconds: nanoseconds after that second, from 0 to 999,999,999.
  /// - Throws: `invalidValue` when one is out of its range.
  public init(seconds: Int64, nanoseconds: Int32 = 0) throws(DocumentError) {
    guard Timestamp.range.contains(seconds) else {
      throw DocumentError(
        .invalidValue,
        "A timestamp of \(seconds) seconds is outside of the years 1 to 9999. Give one within.")
    }
    guard (0..<1_000_000_000).contains(nanoseconds) else {
      throw DocumentError(
        .invalidValue,
        "A timestamp has \(nanoseconds) nanoseconds. Give a number from 0 to 999999999.")
    }
    self.init(unchecked: seconds, nanoseconds)
  }

  /// A timestamp of whole microseconds.
  ///
  /// - Parameter microseconds: microseconds since 1970.
  /// - Throws: `invalidValue` when it is outside of the years 1 to 9999.
  public init(microseconds: Int64) throws(DocumentError) {
    let (quotient, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    // Nanoseconds count forwards, before 1970 too.
    try self.init(
      seconds: rest < 0 ? quotient - 1 : quotient,
      nanoseconds: Int32(rest < 0 ? rest + 1_000_000 : rest) * 1000)
  }

  /// The microseconds since 1970, cut off towards the past.
  public var microseconds: Int64 { seconds * 1_000_000 + Int64(nanoseconds / 1000) }

  /// The timestamp without what is less than a microsecond, as the service stores it.
  public var truncated: Timestamp { Timestamp(unchecked: seconds, nanoseconds / 1000 * 1000) }

  /// Orders by time.
  public static func < (a: Timestamp, b: Timestamp) -> Bool { compare(a, b) < 0 }

  /// Orders by time: negative, zero or positive.
  static func compare(_ a: Timestamp, _ b: Timestamp) -> Int {
    if a.seconds != b.seconds { return a.seconds < b.seconds ? -1 : 1 }
    return Int(a.nanoseconds) - Int(b.nanoseconds)
  }
}
