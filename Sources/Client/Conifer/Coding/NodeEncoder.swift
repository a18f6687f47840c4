import Foundation

/// Encodes values into what `setValue` takes, without text between.
///
/// `Date` becomes milliseconds since 1970, `Data` base64, `URL` a string; nil, and what is empty, is
/// left out. Keys `.value`, `.priority` and `.sv` mean what they do in `setValue`.
public struct NodeEncoder: Sendable {
  /// What types are told while they encode.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// An encoder.
  public init() {}

  /// The value in the form that `setValue` takes; nil for nothing.
  ///
  /// - Throws: `coding`.
  public func encode(_ value: some Encodable) throws(DatabaseError) -> Any? {
    do {
      let slot = EncodingSlot()
      try NodeEncoding(slot: slot, codingPath: [], userInfo: userInfo).encode(value)
      return slot.value
    } catch {
      throw DatabaseError(coding: error, "encoded")
    }
  }
}

/// Where a value goes; containers are filled after they were given out.
final class EncodingSlot {
  private enum Content {
    case scalar(Any?)
    case object([(key: String, slot: EncodingSlot)])
    case array([EncodingSlot])
  }

  private var content = Content.scalar(nil)

  func set(_ scalar: Any?) { content = .scalar(scalar) }

  func beginObject() {
    if case .object = content { return }
    content = .object([])
  }

  func beginArray() {
    if case .array = content { return }
    content = .array([])
  }

  func member(_ key: String) -> EncodingSlot {
    let slot = EncodingSlot()
    if case .object(var members) = content {
      content = .scalar(nil)
      members.append((key, slot))
      content = .object(members)
    }
    return slot
  }

  func element() -> EncodingSlot {
    let slot = EncodingSlot()
    if case .array(var elements) = content {
      content = .scalar(nil)
      elements.append(slot)
      content = .array(elements)
    }
    return slot
  }

  var count: Int {
    if case .array(let elements) = content { return elements.count }
    return 0
  }

  /// What was put in, as `setValue` takes it.
  var value: Any? {
    switch content {
    case .scalar(let value): return value
    case .array(let elements): return elements.map { $0.value ?? NSNull() }
    case .object(let members):
      var dictionary = [String: Any](minimumCapacity: members.count)
      for (key, slot) in members { dictionary[key] = slot.value }
      return dictionary
    }
  }
}

/// An encoder into one slot.
struct NodeEncoding: Encoder {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any]

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    slot.beginObject()
    return KeyedEncodingContainer(KeyedSlotContainer<Key>(encoding: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    slot.beginArray()
    return UnkeyedSlotContainer(encoding: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func nested(_ slot: EncodingSlot, _ key: any CodingKey) -> NodeEncoding {
    NodeEncoding(slot: slot, codingPath: codingPath + [key], userInfo: userInfo)
  }
}

extension NodeEncoding: SingleValueEncodingContainer {
  func encodeNil() { slot.set(nil) }
  func encode(_ value: Bool) { slot.set(value) }
  func encode(_ value: String) { slot.set(value) }
  func encode(_ value: Double) throws { try floating(value) }
  func encode(_ value: Float) throws { try floating(Double(value)) }
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

  /// Encodes a value; types that have a form of their own in the tree come first.
  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let date as Date: try floating((date.timeIntervalSince1970 * 1000).rounded())
    case let data as Data: slot.set(data.base64EncodedString())
    case let url as URL: slot.set(url.absoluteString)
    case let decimal as Decimal: try floating((decimal as NSDecimalNumber).doubleValue)
    default: try value.encode(to: self)
    }
  }

  private func integer(_ value: some FixedWidthInteger) throws {
    guard let number = Int(exactly: value) else {
      throw refused(value, "the number does not fit 64 bits with a sign")
    }
    slot.set(number)
  }

  private func floating(_ value: Double) throws {
    guard value.isFinite else { throw refused(value, "the number is not finite") }
    // Whole numbers are kept as such, as the tree does with what it reads.
    if let whole = Int(exactly: value), abs(value) < 0x1p53 {
      slot.set(whole)
    } else {
      slot.set(value)
    }
  }

  private func refused(_ value: Any, _ words: String) -> EncodingError {
    .invalidValue(value, .init(codingPath: codingPath, debugDescription: words))
  }
}
