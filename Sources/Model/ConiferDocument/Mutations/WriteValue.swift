/// A value that an app writes into a field, or an instruction to the server in its place.
public indirect enum WriteValue: Sendable {
  /// A value.
  case value(DocumentValue)
  /// An array; instructions within it are an error, which is found when the write is made.
  case array([WriteValue])
  /// A map, in which instructions may stand.
  case map([(String, WriteValue)])
  /// The field is deleted.
  case delete
  /// The server computes the field.
  case transform(FieldTransform.Operation)

  /// The time when the server applies the write.
  public static let serverTimestamp = WriteValue.transform(.serverTimestamp)
  /// The sum of the field and a number.
  public static func increment(_ number: Number) -> WriteValue { .transform(.increment(number)) }
  /// The smaller one of the field and a number.
  public static func minimum(_ number: Number) -> WriteValue { .transform(.minimum(number)) }
  /// The larger one of the field and a number.
  public static func maximum(_ number: Number) -> WriteValue { .transform(.maximum(number)) }
  /// The field's array with these values, each once.
  public static func arrayUnion(_ values: [DocumentValue]) -> WriteValue {
    .transform(.arrayUnion(values))
  }
  /// The field's array without these values.
  public static func arrayRemove(_ values: [DocumentValue]) -> WriteValue {
    .transform(.arrayRemove(values))
  }
}

extension WriteValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Null.
  public init(nilLiteral: ()) { self = .value(.null) }
  /// A boolean.
  public init(booleanLiteral value: Bool) { self = .value(.boolean(value)) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .value(.integer(value)) }
  /// A double.
  public init(floatLiteral value: Double) { self = .value(.double(value)) }
  /// A text.
  public init(stringLiteral value: String) { self = .value(.string(value)) }
  /// An array.
  public init(arrayLiteral elements: WriteValue...) { self = .array(elements) }
  /// A map.
  public init(dictionaryLiteral elements: (String, WriteValue)...) { self = .map(elements) }
}
