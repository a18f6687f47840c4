import ConiferDocument
import ConiferEngine

/// The fields of a map by key.
struct KeyedMapContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoding: DocumentDecoding
  private let map: MapValue

  init(decoding: DocumentDecoding, map: MapValue) {
    self.decoding = decoding
    let strategy = decoding.context.decoder.keyDecodingStrategy
    guard !decoding.keepsKeys, let name = strategy.naming(at: decoding.codingPath) else {
      self.map = map
      return
    }
    self.map = MapValue(map.fields.map { .init(name($0.name), $0.value) })
  }

  var codingPath: [any CodingKey] { decoding.codingPath }
  var allKeys: [Key] { map.fields.compactMap { Key(stringValue: $0.name) } }

  func contains(_ key: Key) -> Bool { map[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { child(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    if type is any DocumentIDField.Type {
      guard !contains(key) else {
        throw DecodingError.dataCorrupted(
          .init(
            codingPath: codingPath + [key],
            debugDescription: "the document has a field of the name of the DocumentID"))
      }
      return try child(key).decode(type)
    }
    guard contains(key) else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "there is no such field"))
    }
    return try child(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try child(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try child(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    decoding.nested(map["super"], AnyCodingKey(stringValue: "super"))
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { child(key) }

  private func child(_ key: Key) -> DocumentDecoding {
    decoding.nested(map[key.stringValue], key)
  }
}

/// The elements of an array one after the other.
struct UnkeyedArrayContainer: UnkeyedDecodingContainer {
  let decoding: DocumentDecoding
  let elements: [DocumentValue]
  private(set) var currentIndex = 0

  init(decoding: DocumentDecoding, elements: [DocumentValue]) {
    self.decoding = decoding
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoding.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex] == .null else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try current().decode(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    let container = try current().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try current().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let decoder = try current()
    currentIndex += 1
    return decoder
  }

  private func current() throws -> DocumentDecoding {
    let key = AnyCodingKey(intValue: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Any.self, .init(codingPath: codingPath + [key], debugDescription: "the array has ended"))
    }
    return decoding.nested(elements[currentIndex], key)
  }
}
