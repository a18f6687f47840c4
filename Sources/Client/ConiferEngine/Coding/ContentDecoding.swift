/// A decoder at one place of some data, with the containers that the decoders of both clients share.
package protocol ContentDecoding: ScalarDecoding {
  /// What may be at a place.
  associatedtype Content

  /// Whether keys are an app's data, which stays as it is, rather than names of a type's members.
  var keepsKeys: Bool { get set }

  /// The decoding of what is within, nil for nothing.
  func nested(_ content: Content?, _ key: any CodingKey) -> Self

  /// Checks what is found by a key before it is decoded.
  ///
  /// - Throws: why it cannot be decoded as a type.
  func check(_ content: Content?, _ key: any CodingKey, _ type: Any.Type) throws

  /// Whether an element is passed over by types that have no nil.
  func isHole(_ element: Content) -> Bool

  // As the standard library's protocol has it, but types with a form of their own come first.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value
}

extension ContentDecoding {
  /// The value as a type; of dictionaries the keys stay as they are.
  package func decodePlain<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard type is any StringKeyed.Type else { return try Value(from: self) }
    var decoding = self
    decoding.keepsKeys = true
    return try Value(from: decoding)
  }
}

/// What is within a place, by name.
package struct NamedContent<Content> {
  /// All names, in order.
  package let names: () -> [String]
  /// What has a name.
  package let content: (String) -> Content?

  package init(names: @escaping () -> [String], content: @escaping (String) -> Content?) {
    self.names = names
    self.content = content
  }
}

/// What is within a place by coding keys.
package struct KeyedContentContainer<Decoding: ContentDecoding, Key: CodingKey>:
  KeyedDecodingContainerProtocol
{
  private let decoding: Decoding
  private let members: NamedContent<Decoding.Content>

  package init(_ decoding: Decoding, _ members: NamedContent<Decoding.Content>) {
    self.decoding = decoding
    self.members = members
  }

  package var codingPath: [any CodingKey] { decoding.codingPath }
  package var allKeys: [Key] { members.names().compactMap { Key(stringValue: $0) } }

  package func contains(_ key: Key) -> Bool { members.content(key.stringValue) != nil }

  package func decodeNil(forKey key: Key) throws -> Bool { child(key).decodeNil() }

  package func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    let content = members.content(key.stringValue)
    try decoding.check(content, key, type)
    return try decoding.nested(content, key).decode(type)
  }

  package func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try child(key).container(keyedBy: type) }

  package func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try child(key).unkeyedContainer()
  }

  package func superDecoder() throws -> any Decoder {
    decoding.nested(members.content("super"), AnyCodingKey(stringValue: "super"))
  }

  package func superDecoder(forKey key: Key) throws -> any Decoder { child(key) }

  private func child(_ key: Key) -> Decoding {
    decoding.nested(members.content(key.stringValue), key)
  }
}

/// The elements within a place one after the other; one that cannot be decoded stays the next.
package struct UnkeyedContentContainer<Decoding: ContentDecoding>: UnkeyedDecodingContainer {
  private let decoding: Decoding
  private let elements: [Decoding.Content]
  package private(set) var currentIndex = 0

  package init(_ decoding: Decoding, _ elements: [Decoding.Content]) {
    self.decoding = decoding
    self.elements = elements
  }

  package var codingPath: [any CodingKey] { decoding.codingPath }
  package var count: Int? { elements.count }
  package var isAtEnd: Bool { currentIndex >= elements.count }

  package mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, try current().decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  package mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if !(type is any ExpressibleByNilLiteral.Type) {
      while !isAtEnd, decoding.isHole(elements[currentIndex]) { currentIndex += 1 }
    }
    return try take { try $0.decode(type) }
  }

  package mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { try take { try $0.container(keyedBy: type) } }

  package mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try take { try $0.unkeyedContainer() }
  }

  package mutating func superDecoder() throws -> any Decoder { try take { $0 } }

  private mutating func take<R>(_ body: (Decoding) throws -> R) throws -> R {
    let result = try body(current())
    currentIndex += 1
    return result
  }

  private func current() throws -> Decoding {
    let key = AnyCodingKey(intValue: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Any.self, .init(codingPath: codingPath + [key], debugDescription: "the array has ended"))
    }
    return decoding.nested(elements[currentIndex], key)
  }
}
