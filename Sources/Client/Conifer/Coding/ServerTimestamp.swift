public import Foundation

/// A property wrapper for a time that the server fills in: nil is written as the server's time, and
/// read as a date.
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

  private enum Keys: String, CodingKey {
    case serverValue = ".sv"
  }

  /// Reads the time, or nil where there is none.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Date.self)
  }

  /// Writes the time, or the server value that stands for it.
  public func encode(to encoder: any Encoder) throws {
    if let wrappedValue {
      var container = encoder.singleValueContainer()
      return try container.encode(wrappedValue)
    }
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode("timestamp", forKey: .serverValue)
  }
}
