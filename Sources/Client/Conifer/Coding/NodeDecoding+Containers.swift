import ConiferEngine
import ConiferTree

/// The children of a node by key.
struct KeyedNodeContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoding: NodeDecoding
  /// The children by the keys that a strategy makes of their names; nil where names are keys.
  private let renamed: [String: Node]?

  init(decoding: NodeDecoding) {
    self.decoding = decoding
    let strategy = decoding.decoder.keyDecodingStrategy
    guard !decoding.keepsKeys, let key = strategy.naming(at: decoding.codingPath) else {
      renamed = nil
      return
    }
    // Of two names that make one key the first counts.
    renamed = Dictionary(
      decoding.node.children.map { (key($0.key.string), $0.node) },
      uniquingKeysWith: { first, _ in first })
  }

  var codingPath: [any CodingKey] { decoding.codingPath }

  var allKeys: [Key] {
    if let renamed { return renamed.keys.compactMap { Key(stringValue: $0) } }
    return decoding.node.children.compactMap { Key(stringValue: $0.key.string) }
  }

  func contains(_ key: Key) -> Bool { !child(key).node.isEmpty }

  // What is absent is nil; a required value says itself that it is missing.
  func decodeNil(forKey key: Key) throws -> Bool { child(key).node.isEmpty }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try child(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try child(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try child(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    decoding.nested(
      decoding.node[ConiferTree.Key("super")], AnyCodingKey(stringValue: "super"))
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { child(key) }

  private func child(_ key: Key) -> NodeDecoding {
    let node =
      if let renamed { renamed[key.stringValue] ?? .empty } else {
        decoding.node[ConiferTree.Key(key.stringValue)]
      }
    return decoding.nested(node, key)
  }
}

/// The children of a node one after the other.
struct UnkeyedNodeContainer: UnkeyedDecodingContainer {
  let decoding: NodeDecoding
  /// The elements; empty ones are the holes of an array.
  private let elements: [Node]
  private(set) var currentIndex = 0

  init(decoding: NodeDecoding) {
    self.decoding = decoding
    let node = decoding.node
    var elements: [Node] = []
    let isArray = node.childCount > 0 && node.isArray
    node.forEachChild { key, child in
      if isArray, let index = key.integer {
        while elements.count < Int(index) { elements.append(.empty) }
      }
      elements.append(child)
    }
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoding.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex].isEmpty else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    // The last element is never a hole, so there is one to go on to.
    if !(type is any ExpressibleByNilLiteral.Type) {
      while !isAtEnd, elements[currentIndex].isEmpty { currentIndex += 1 }
    }
    return try next().decode(type)
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { try next().container(keyedBy: type) }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try next() }

  private mutating func next() throws -> NodeDecoding {
    let key = AnyCodingKey(intValue: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Any.self, .init(codingPath: codingPath + [key], debugDescription: "the array has ended"))
    }
    defer { currentIndex += 1 }
    return decoding.nested(elements[currentIndex], key)
  }
}
