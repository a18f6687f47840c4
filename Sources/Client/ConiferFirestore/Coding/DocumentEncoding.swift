import ConiferEngine
import Foundation

extension Firestore.Encoder: EncodingSettings {}

/// An encoder into one slot.
struct DocumentEncoding: SlotEncoding {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  let encoder: Firestore.Encoder
  var keepsKeys = false

  init(slot: EncodingSlot, codingPath: [any CodingKey], encoder: Firestore.Encoder) {
    self.slot = slot
    self.codingPath = codingPath
    self.encoder = encoder
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
    default: try encodePlain(value)
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
