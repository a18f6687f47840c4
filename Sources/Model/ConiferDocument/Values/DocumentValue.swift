/// The value of a field, such as a number, a string, an array, a map or a reference.
///
/// `==` is strict: the integer 1 and the double 1.0 differ, and so do 0.0 and -0.0. The order
/// (`compare`) is the service's and takes both kinds of number as one.
public enum DocumentValue: Sendable {
  /// Nothing, which is not the same as no field.
  case null
  /// True or false.
  case boolean(Bool)
  /// An integer of 64 bits.
  case integer(Int64)
  /// A double, which may be NaN or infinite.
  case double(Double)
  /// A moment.
  case timestamp(Timestamp)
  /// The placeholder for a time that the server sets: when the write was made on this device, and the last
  /// value that was not such a placeholder.
  indirect case serverTimestamp(written: Timestamp, previous: DocumentValue?)
  /// A text, compared by its UTF-8 bytes.
  case string(String)
  /// Bytes.
  case bytes([UInt8])
  /// The name of a document.
  case reference(DocumentName)
  /// A place on the globe.
  case geoPoint(GeoPoint)
  /// Values in a row; none of them an array when an app writes it.
  case array([DocumentValue])
  /// Numbers in a row, for nearest-neighbour search.
  case vector([Double])
  /// Names with values.
  case map(MapValue)

  /// A text from UTF-16 code units.
  ///
  /// - Parameter utf16: the code units.
  /// - Throws: `invalidValue` when a surrogate has no partner: such a text has no UTF-8 form, and
  ///   replacing it would change the data.
  public init(utf16: some Sequence<UInt16>) throws(DocumentError) {
    guard let text = String(validating: utf16, as: UTF16.self) else {
      throw DocumentError(
        .invalidValue,
        "The text has half of a surrogate pair. Remove it, or store the text as bytes.")
    }
    self = .string(text)
  }

  /// A text from UTF-8 bytes.
  ///
  /// - Parameter utf8: the bytes.
  /// - Throws: `invalidValue` when they are no UTF-8.
  public init(utf8: some Sequence<UInt8>) throws(DocumentError) {
    guard let text = String(validating: utf8, as: UTF8.self) else {
      throw DocumentError(
        .invalidValue, "The text is not valid UTF-8. Correct it, or store it as bytes.")
    }
    self = .string(text)
  }

  /// The number; none for other values.
  public var number: Number? {
    switch self {
    case .integer(let value): return .integer(value)
    case .double(let value): return .double(value)
    default: return nil
    }
  }

  /// The value of a number.
  public init(_ number: Number) {
    switch number {
    case .integer(let value): self = .integer(value)
    case .double(let value): self = .double(value)
    }
  }

  /// The map; none for other values.
  public var map: MapValue? {
    guard case .map(let map) = self else { return nil }
    return map
  }
}

extension DocumentValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Null.
  public init(nilLiteral: ()) { self = .null }
  /// A boolean.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A double.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// An array.
  public init(arrayLiteral elements: DocumentValue...) { self = .array(elements) }
  /// A map.
  public init(dictionaryLiteral elements: (String, DocumentValue)...) {
    self = .map(MapValue(elements))
  }
}
