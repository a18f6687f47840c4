import ConiferDocument
public import Foundation

/// A point in time, to the nanosecond, by the Apple SDK's name.
///
/// Any numbers make one. A write or a query with a time outside of the years 1 to 9999 is refused.
/// Fields are kept to the microsecond.
public struct Timestamp: Sendable, Hashable, Comparable, Codable {
  /// The seconds since 1970-01-01T00:00:00Z.
  public let seconds: Int64
  /// The nanoseconds after that second, from 0 to 999,999,999.
  public let nanoseconds: Int32

  /// A moment.
  ///
  /// - Parameters:
  ///   - seconds: seconds since 1970, from the year 1 to 9999.
  ///   - nanoseconds: nanoseconds after that second, from 0 to 999,999,999.
  public init(seconds: Int64, nanoseconds: Int32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// The moment of a date; one that no number of seconds holds is the last that there is.
  public init(date: Date) {
    let time = date.timeIntervalSince1970
    let whole = time.rounded(.down)
    guard let seconds = Int64(exactly: whole) else {
      self.init(seconds: time < 0 ? .min : .max, nanoseconds: 0)
      return
    }
    let nanoseconds = Int32(((time - whole) * 1e9).rounded())
    let carries = nanoseconds >= 1_000_000_000
    self.init(
      seconds: carries ? seconds &+ 1 : seconds,
      nanoseconds: carries ? nanoseconds - 1_000_000_000 : nanoseconds)
  }

  /// Now, by the device's clock.
  public init() { self.init(date: Date()) }

  /// The moment as a date, which keeps about the microsecond.
  public func dateValue() -> Date {
    Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9)
  }

  /// Orders by time.
  public func compare(_ other: Timestamp) -> ComparisonResult {
    self == other ? .orderedSame : self < other ? .orderedAscending : .orderedDescending
  }

  /// Orders by time.
  public static func < (a: Timestamp, b: Timestamp) -> Bool {
    (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
  }
}

extension Timestamp: CustomStringConvertible {
  /// The seconds and the nanoseconds.
  public var description: String { "Timestamp(seconds: \(seconds), nanoseconds: \(nanoseconds))" }

  init(_ model: ConiferDocument.Timestamp) {
    self.init(seconds: model.seconds, nanoseconds: model.nanoseconds)
  }

  /// The moment as fields keep it.
  ///
  /// - Throws: `invalidValue` outside of the years 1 to 9999.
  func checked() throws(DocumentError) -> ConiferDocument.Timestamp {
    try ConiferDocument.Timestamp(seconds: seconds, nanoseconds: nanoseconds).truncated
  }
}
