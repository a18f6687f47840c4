/// A decoder of one value, with what the decoders of both clients share.
package protocol ScalarDecoding: Decoder, SingleValueDecodingContainer {
  /// The number there; nil for anything else.
  var number: DecodedNumber? { get }

  /// The error for a value that is not of a type.
  func mismatch(_ type: Any.Type) -> DecodingError
}

/// A number as it is stored.
package enum DecodedNumber {
  case integer(Int64)
  case double(Double)
}

extension ScalarDecoding {
  /// The number there as a type that holds it exactly.
  private func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
    let value: Integer? =
      switch number {
      case .integer(let number)?: Integer(exactly: number)
      case .double(let number)?: Integer(exactly: number)
      case nil: nil
      }
    guard let value else { throw mismatch(type) }
    return value
  }

  package func singleValueContainer() -> any SingleValueDecodingContainer { self }

  package func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
  package func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  package func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  package func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  package func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  package func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  package func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  package func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  package func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  package func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  package func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

  /// A value that is stored in the form of another one, such as a URL as a string.
  package func convert<Raw: Decodable, Value>(
    _ raw: Raw.Type, _ make: (Raw) -> Value?
  ) throws -> Value {
    guard let value = make(try Raw(from: self)) else { throw mismatch(Value.self) }
    return value
  }
}
