import ConiferEngine
import Foundation

/// An encoder into one slot.
struct DocumentEncoding: SlotEncoding {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  let encoder: Firestore.Encoder
  /// Whether keys are an app's data, which stays as it is, rather than names of a type's members.
  var keepsKeys = false

  var userInfo: [CodingUserInfoKey: Any] { encoder.userInfo }

  /// The encoding of a member.
  func member(_ key: any CodingKey) -> DocumentEncoding {
    let path = codingPath + [key]
    let name = keepsKeys ? key.stringValue : encoder.keyEncodingStrategy.name(at: path)
    return DocumentEncoding(slot: slot.member(name), codingPath: path, encoder: encoder)
  }

  /// The encoding of the next element.
  func element() -> DocumentEncoding {
    let key = AnyCodingKey(intValue: slot.count)
    return DocumentEncoding(slot: slot.element(), codingPath: codingPath + [key], encoder: encoder)
  }

  func encodeNil() { slot.set(NSNull()) }
  func encode(_ value: Double) { slot.set(value) }

  /// Encodes a value; types that are fields of their own kinds come first.
  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case is Timestamp, is GeoPoint, is VectorValue, is DocumentReference, is FieldValue:
      slot.set(value)
    case let date as Date: try encode(date)
    case let data as Data: try encode(data)
    case let url as URL: slot.set(url.absoluteString)
    case let decimal as Decimal: slot.set((decimal as NSDecimalNumber).doubleValue)
    case is any StringKeyed:
      var encoding = self
      encoding.keepsKeys = true
      try value.encode(to: encoding)
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
}
