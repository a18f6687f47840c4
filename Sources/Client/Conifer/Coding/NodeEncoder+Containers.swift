/// The members of an object that is being encoded.
struct KeyedSlotContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoding: NodeEncoding

  var codingPath: [any CodingKey] { encoding.codingPath }

  func encodeNil(forKey key: Key) throws {}

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try member(key).encode(value)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { member(key).container(keyedBy: keyType) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    member(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    encoding.nested(encoding.slot.member("super"), IndexKey(stringValue: "super"))
  }

  func superEncoder(forKey key: Key) -> any Encoder { member(key) }

  private func member(_ key: Key) -> NodeEncoding {
    encoding.nested(encoding.slot.member(key.stringValue), key)
  }
}

/// The elements of an array that is being encoded.
struct UnkeyedSlotContainer: UnkeyedEncodingContainer {
  let encoding: NodeEncoding

  var codingPath: [any CodingKey] { encoding.codingPath }
  var count: Int { encoding.slot.count }

  func encodeNil() throws { _ = encoding.slot.element() }

  func encode<Value: Encodable>(_ value: Value) throws { try element().encode(value) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type
  ) -> KeyedEncodingContainer<Nested> { element().container(keyedBy: keyType) }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }

  func superEncoder() -> any Encoder { element() }

  private func element() -> NodeEncoding {
    let index = IndexKey(intValue: count)
    return encoding.nested(encoding.slot.element(), index)
  }
}
