public import Foundation

/// A property wrapper for a time that the server fills in: nil is written as the server's time, and
/// read as a date. It is milliseconds since 1970 whatever the coder's strategy for dates.
///
/// ```swift
/// struct Message: Codable {
///   var text: String
///   @ServerTimestamp var sent: Date?
/// }
/// ```
@propertyWrapper
public struct ServerTimestamp: Codable, Hashable, Sendable {
  /// The time; nil until the server has filled it in.
  public var wrappedValue: Date?

  /// A time, or one for the server to fill in.
  public init(wrappedValue: Date? = nil) { self.wrappedValue = wrappedValue }

  /// Reads the time, or nil where there is none.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue =
      container.decodeNil()
      ? nil : Date(timeIntervalSince1970: try container.decode(Double.self) / 1000)
  }

  /// Writes the time, or the server value that stands for it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode((wrappedValue.timeIntervalSince1970 * 1000).rounded())
    } else {
      // A dictionary, whose key no strategy changes.
      try container.encode([".sv": "timestamp"])
    }
  }
}
