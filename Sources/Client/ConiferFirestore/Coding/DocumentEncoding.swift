import Foundation

/// An encoder into one slot.
struct DocumentEncoding: Encoder {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  let encoder: Firestore.Encoder

  var userInfo: [CodingUserInfoKey: Any] { encoder.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    slot.beginObject()
    return KeyedEncodingContainer(KeyedSlotContainer<Key>(encoding: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    slot.beginArray()
    return UnkeyedSlotContainer(encoding: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  /// The encoding of a member.
  func member(_ key: any CodingKey) -> DocumentEncoding {
    let path = codingPath + [key]
    let name =
      switch encoder.keyEncodingStrategy {
      case .useDefaultKeys: key.stringValue
      case .convertToSnakeCase: SnakeCase.from(key.stringValue)
      case .custom(let name): name(path).stringValue
      }
    return DocumentEncoding(slot: slot.member(name), codingPath: path, encoder: encoder)
  }

  /// The encoding of the next element.
  func element() -> DocumentEncoding {
    let key = PlaceKey(intValue: slot.count)
    return DocumentEncoding(slot: slot.element(), codingPath: codingPath + [key], encoder: encoder)
  }
}

extension DocumentEncoding: SingleValueEncodingContainer {
  func encodeNil() { slot.set(NSNull()) }
  func encode(_ value: Bool) { slot.set(value) }
  func encode(_ value: String) { slot.set(value) }
  func encode(_ value: Double) { slot.set(value) }
  func encode(_ value: Float) { slot.set(Double(value)) }
  func encode(_ value: Int) { slot.set(value) }
  func encode(_ value: Int8) { slot.set(Int(value)) }
  func encode(_ value: Int16) { slot.set(Int(value)) }
  func encode(_ value: Int32) { slot.set(Int(value)) }
  func encode(_ value: Int64) throws { try integer(value) }
  func encode(_ value: UInt) throws { try integer(value) }
  func encode(_ value: UInt8) { slot.set(Int(value)) }
  func encode(_ value: UInt16) { slot.set(Int(value)) }
  func encode(_ value: UInt32) throws { try integer(value) }
  func encode(_ value: UInt64) throws { try integer(value) }

  /// Encodes a value; types that are fields of their own kinds come first.
  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case is Timestamp, is GeoPoint, is VectorValue, is DocumentReference, is FieldValue:
      slot.set(value)
    case let date as Date: try encode(date)
    case let data as Data: try encode(data)
    case let url as URL: slot.set(url.absoluteString)
    case let decimal as Decimal: slot.set((decimal as NSDecimalNumber).doubleValue)
    default: try value.encode(to: self)
    }
  }

  private func encode(_ date: Date) throws {
    switch encoder.dateEncodingStrategy {
    case .timestamp: slot.set(Timestamp(date: date))
    case .deferredToDate: try date.encode(to: self)
    case .secondsSince1970: slot.set(date.timeIntervalSince1970)
    case .millisecondsSince1970: slot.set(date.timeIntervalSince1970 * 1000)
    case .iso8601: slot.set(date.formatted(.iso8601))
    case .formatted(let formatter): slot.set(formatter.string(from: date))
    case .custom(let encode): try encode(date, self)
    }
  }

  private func encode(_ data: Data) throws {
    switch encoder.dataEncodingStrategy {
    case .blob: slot.set(data)
    case .deferredToData: try data.encode(to: self)
    case .base64: slot.set(data.base64EncodedString())
    case .custom(let encode): try encode(data, self)
    }
  }

  private func integer(_ value: some FixedWidthInteger) throws {
    guard let number = Int(exactly: value) else {
      throw EncodingError.invalidValue(
        value,
        .init(
          codingPath: codingPath,
          debugDescription: "the number does not fit 64 bits with a sign"))
    }
    slot.set(number)
  }
}

/// The members of an object that is being encoded.
struct KeyedSlotContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoding: DocumentEncoding

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

  func superEncoder() -> any Encoder { encoding.member(PlaceKey(stringValue: "super")) }

  func superEncoder(forKey key: Key) -> any Encoder { encoding.member(key) }
}

/// The elements of an array that is being encoded.
struct UnkeyedSlotContainer: UnkeyedEncodingContainer {
  let encoding: DocumentEncoding

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
