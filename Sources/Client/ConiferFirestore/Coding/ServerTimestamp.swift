public import Foundation

/// A type that a ``ServerTimestamp`` property may have, which is `Date` or ``Timestamp``.
public protocol ServerTimestampWrappable {
  /// The value of a timestamp.
  static func wrap(_ timestamp: Timestamp) throws -> Self
  /// The timestamp of a value.
  static func unwrap(_ value: Self) throws -> Timestamp
}

extension Date: ServerTimestampWrappable {
  /// The date.
  public static func wrap(_ timestamp: Timestamp) -> Date { timestamp.dateValue() }
  /// The timestamp.
  public static func unwrap(_ value: Date) -> Timestamp { Timestamp(date: value) }
}

extension Timestamp: ServerTimestampWrappable {
  /// The timestamp itself.
  public static func wrap(_ timestamp: Timestamp) -> Timestamp { timestamp }
  /// The timestamp itself.
  public static func unwrap(_ value: Timestamp) -> Timestamp { value }
}

/// A property wrapper for a time that the server fills in: nil is written as a server timestamp,
/// and read where there is none yet.
///
/// ```swift
/// struct Message: Codable {
///   var text: String
///   @ServerTimestamp var sent: Date?
/// }
/// ```
@propertyWrapper
public struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable {
  /// The time; nil until the server has filled it in.
  public var wrappedValue: Value?

  /// A time, or one for the server to fill in.
  public init(wrappedValue value: Value?) { wrappedValue = value }

  /// Reads the time, or nil where there is none yet.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue =
      container.decodeNil() ? nil : try Value.wrap(try container.decode(Timestamp.self))
  }

  /// Writes the time, or the instruction that stands for it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode(Value.unwrap(wrappedValue))
    } else {
      try container.encode(FieldValue.serverTimestamp())
    }
  }
}

extension ServerTimestamp: Equatable where Value: Equatable {}
extension ServerTimestamp: Hashable where Value: Hashable {}
extension ServerTimestamp: Sendable where Value: Sendable {}

/// A property wrapper whose nil is written as null, rather than left out.
@propertyWrapper
public struct ExplicitNull<Value: Codable>: Codable {
  /// The value, or nil.
  public var wrappedValue: Value?

  /// A value, or nil.
  public init(wrappedValue value: Value?) { wrappedValue = value }

  /// Reads a value, or nil where there is null.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
  }

  /// Writes the value, or null.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode(wrappedValue)
    } else {
      try container.encodeNil()
    }
  }
}

extension ExplicitNull: Equatable where Value: Equatable {}
extension ExplicitNull: Hashable where Value: Hashable {}
extension ExplicitNull: Sendable where Value: Sendable {}

// What a document has not is nil for both.
extension KeyedDecodingContainer {
  /// The time in a field; nil where there is no such field.
  public func decode<Value>(
    _ type: ServerTimestamp<Value>.Type, forKey key: Key
  ) throws -> ServerTimestamp<Value> {
    try decodeIfPresent(type, forKey: key) ?? ServerTimestamp(wrappedValue: nil)
  }

  /// The value in a field; nil where there is no such field.
  public func decode<Value>(
    _ type: ExplicitNull<Value>.Type, forKey key: Key
  ) throws -> ExplicitNull<Value> {
    try decodeIfPresent(type, forKey: key) ?? ExplicitNull(wrappedValue: nil)
  }
}
