import ConiferDocument
import ConiferEngine
import Foundation

/// A decoder at one value of a field; at nothing where there is no such field.
struct DocumentDecoding: ContentDecoding {
  let value: DocumentValue?
  let codingPath: [any CodingKey]
  let context: DecodingContext
  /// Whether keys are an app's data, which stays as it is, rather than names of a type's members.
  var keepsKeys = false

  var userInfo: [CodingUserInfoKey: Any] { context.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let map = value?.map else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(KeyedContentContainer<_, Key>(self, members(map)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    switch value {
    case .array(let elements)?: UnkeyedContentContainer(self, elements)
    case .vector(let numbers)?: UnkeyedContentContainer(self, numbers.map { .double($0) })
    default: throw mismatch([Any].self)
    }
  }

  func nested(_ value: DocumentValue?, _ key: any CodingKey) -> DocumentDecoding {
    DocumentDecoding(value: value, codingPath: codingPath + [key], context: context)
  }

  /// The value as a type; types that are fields of their own kinds come first.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let special: Any? =
      switch type {
      case is Date.Type: try date()
      case is Data.Type: try data()
      case is URL.Type: try convert(String.self) { URL(string: $0) }
      case is Decimal.Type: Decimal(try decode(Double.self))
      case is Timestamp.Type: try time()
      case is GeoPoint.Type: try point()
      case is VectorValue.Type: try vector()
      case is DocumentReference.Type: try reference()
      default: nil
      }
    // A cast of nil is avoided: it would succeed as the nil of an optional type.
    if let special, let value = special as? Value { return value }
    return try decodePlain(type)
  }

  func check(_ value: DocumentValue?, _ key: any CodingKey, _ type: Any.Type) throws {
    switch (value, type is any DocumentIDField.Type) {
    case (nil, true), (_?, false): return
    case (_?, true):
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: codingPath + [key],
          debugDescription: "the document has a field of the name of the DocumentID"))
    case (nil, false):
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "there is no such field"))
    }
  }

  func isHole(_ element: DocumentValue) -> Bool { false }

  /// The fields of a map, by the names that a strategy makes of theirs.
  private func members(_ map: MapValue) -> NamedContent<DocumentValue> {
    var map = map
    if !keepsKeys, let name = context.decoder.keyDecodingStrategy.naming(at: codingPath) {
      map = MapValue(map.fields.map { .init(name($0.name), $0.value) })
    }
    return NamedContent { [map] in
      map.fields.map(\.name)
    } content: { [map] in
      map[$0]
    }
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    let found = value.map { "the field is \($0)" } ?? "there is nothing"
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: found)
    return decodeNil() ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

// Fields of kinds of their own.
extension DocumentDecoding {
  private func time() throws -> Timestamp {
    guard case .timestamp(let time)? = value else { throw mismatch(Timestamp.self) }
    return Timestamp(time)
  }

  private func point() throws -> GeoPoint {
    guard case .geoPoint(let point)? = value else { throw mismatch(GeoPoint.self) }
    return GeoPoint(point)
  }

  private func vector() throws -> VectorValue {
    guard case .vector(let numbers)? = value else { throw mismatch(VectorValue.self) }
    return VectorValue(numbers)
  }

  private func reference() throws -> DocumentReference {
    guard case .reference(let name)? = value, let firestore = context.firestore else {
      throw mismatch(DocumentReference.self)
    }
    return DocumentReference(firestore, name)
  }

  private func date() throws -> Date {
    switch context.decoder.dateDecodingStrategy {
    case .timestamp: try time().dateValue()
    case .deferredToDate: try Date(from: self)
    case .secondsSince1970: Date(timeIntervalSince1970: try decode(Double.self))
    case .millisecondsSince1970: Date(timeIntervalSince1970: try decode(Double.self) / 1000)
    case .iso8601: try convert(String.self) { try? Date($0, strategy: .iso8601) }
    case .formatted(let formatter): try convert(String.self) { formatter.date(from: $0) }
    case .custom(let decode): try decode(self)
    }
  }

  private func data() throws -> Data {
    switch context.decoder.dataDecodingStrategy {
    case .blob:
      guard case .bytes(let bytes)? = value else { throw mismatch(Data.self) }
      return Data(bytes)
    case .deferredToData: return try Data(from: self)
    case .base64: return try convert(String.self) { Data(base64Encoded: $0) }
    case .custom(let decode): return try decode(self)
    }
  }
}

extension DocumentDecoding {
  func decodeNil() -> Bool { value == nil || value == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .boolean(let value)? = value else { throw mismatch(type) }
    return value
  }

  func decode(_ type: String.Type) throws -> String {
    guard case .string(let value)? = value else { throw mismatch(type) }
    return value
  }

  func decode(_ type: Double.Type) throws -> Double {
    guard let number = value?.number else { throw mismatch(type) }
    return number.asDouble
  }

  var number: DecodedNumber? {
    switch value {
    case .integer(let number)?: .integer(number)
    case .double(let number)?: .double(number)
    default: nil
    }
  }
}
