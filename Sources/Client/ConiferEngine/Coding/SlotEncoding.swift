/// What an encoder's user sets for all values.
package protocol EncodingSettings {
  /// What members are called.
  var keyEncodingStrategy: KeyEncodingStrategy { get }
  /// What types are told while they encode.
  var userInfo: [CodingUserInfoKey: Any] { get }
}

/// An encoder into one slot, with what the encoders of both clients share.
package protocol SlotEncoding: Encoder, SingleValueEncodingContainer {
  associatedtype Settings: EncodingSettings

  /// The place for the value.
  var slot: EncodingSlot { get }
  /// What holds for all values.
  var encoder: Settings { get }
  /// Whether keys are an app's data, which stays as it is, rather than names of a type's members.
  var keepsKeys: Bool { get set }

  init(slot: EncodingSlot, codingPath: [any CodingKey], encoder: Settings)

  // As the standard library's protocol has them, but what changes is the slot.
  func encodeNil()
  func encode(_ value: Double) throws
  func encode<Value: Encodable>(_ value: Value) throws
}

extension SlotEncoding {
  package var userInfo: [CodingUserInfoKey: Any] { encoder.userInfo }

  /// The encoding of a member of the object that was begun.
  func member(_ key: any CodingKey) -> Self {
    let path = codingPath + [key]
    let name = keepsKeys ? key.stringValue : encoder.keyEncodingStrategy.name(at: path)
    return Self(slot: slot.member(name), codingPath: path, encoder: encoder)
  }

  /// The encoding of the next element of the array that was begun.
  func element() -> Self {
    let key = AnyCodingKey(intValue: slot.count)
    return Self(slot: slot.element(), codingPath: codingPath + [key], encoder: encoder)
  }

  /// Encodes a value that has no form of its own; of dictionaries the keys stay as they are.
  package func encodePlain(_ value: some Encodable) throws {
    guard value is any StringKeyed else { return try value.encode(to: self) }
    var encoding = self
    encoding.keepsKeys = true
    try value.encode(to: encoding)
  }

  package func container<Key: CodingKey>(
    keyedBy type: Key.Type
  ) -> KeyedEncodingContainer<Key> {
    slot.beginObject()
    return KeyedEncodingContainer(KeyedSlotContainer<Self, Key>(encoding: self))
  }

  package func unkeyedContainer() -> any UnkeyedEncodingContainer {
    slot.beginArray()
    return UnkeyedSlotContainer(encoding: self)
  }

  package func singleValueContainer() -> any SingleValueEncodingContainer { self }

  package func encode(_ value: Bool) { slot.set(value) }
  package func encode(_ value: String) { slot.set(value) }
  package func encode(_ value: Float) throws { try encode(Double(value)) }
  package func encode(_ value: Int) { slot.set(value) }
  package func encode(_ value: Int8) { slot.set(Int(value)) }
  package func encode(_ value: Int16) { slot.set(Int(value)) }
  package func encode(_ value: Int32) { slot.set(Int(value)) }
  package func encode(_ value: Int64) throws { try encodeExactly(value) }
  package func encode(_ value: UInt) throws { try encodeExactly(value) }
  package func encode(_ value: UInt8) { slot.set(Int(value)) }
  package func encode(_ value: UInt16) { slot.set(Int(value)) }
  package func encode(_ value: UInt32) throws { try encodeExactly(value) }
  package func encode(_ value: UInt64) throws { try encodeExactly(value) }

  private func encodeExactly(_ value: some FixedWidthInteger) throws {
    guard let number = Int(exactly: value) else {
      throw refused(value, "the number does not fit 64 bits with a sign")
    }
    slot.set(number)
  }

  /// The error for a value that has no form here.
  package func refused(_ value: Any, _ words: String) -> EncodingError {
    .invalidValue(value, .init(codingPath: codingPath, debugDescription: words))
  }
}

/// The members of an object that is being encoded.
struct KeyedSlotContainer<Encoding: SlotEncoding, Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoding: Encoding

  var codingPath: [any CodingKey] { encoding.codingPath }

  func encodeNil(forKey key: Key) throws { encoding.member(key).encodeNil() }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try encoding.member(key).encode(value)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { encoding.member(key).container(keyedBy: keyType) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoding.member(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoding.member(AnyCodingKey(stringValue: "super")) }

  func superEncoder(forKey key: Key) -> any Encoder { encoding.member(key) }
}

/// The elements of an array that is being encoded.
struct UnkeyedSlotContainer<Encoding: SlotEncoding>: UnkeyedEncodingContainer {
  let encoding: Encoding

  var codingPath: [any CodingKey] { encoding.codingPath }
  var count: Int { encoding.slot.count }

  func encodeNil() throws { encoding.element().encodeNil() }

  func encode<Value: Encodable>(_ value: Value) throws { try encoding.element().encode(value) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type
  ) -> KeyedEncodingContainer<Nested> { encoding.element().container(keyedBy: keyType) }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    encoding.element().unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoding.element() }
}
