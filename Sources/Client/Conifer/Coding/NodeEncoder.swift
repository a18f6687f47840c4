import ConiferEngine
import Foundation

/// An encoder of `Encodable` values into what `setValue` takes, without JSON text between.
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
      return try slot.value(null: NSNull())
    } catch {
      throw DatabaseError(coding: error, "encoded")
    }
  }
}

/// An encoder into one slot.
struct NodeEncoding: SlotEncoding {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any]

  func member(_ key: any CodingKey) -> NodeEncoding { nested(slot.member(key.stringValue), key) }

  func element() -> NodeEncoding {
    let key = AnyCodingKey(intValue: slot.count)
    return nested(slot.element(), key)
  }

  private func nested(_ slot: EncodingSlot, _ key: any CodingKey) -> NodeEncoding {
    NodeEncoding(slot: slot, codingPath: codingPath + [key], userInfo: userInfo)
  }

  func encodeNil() { slot.set(nil) }
  func encode(_ value: Double) throws { try floating(value) }

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

  private func floating(_ value: Double) throws {
    guard value.isFinite else { throw refused(value, "the number is not finite") }
    // Whole numbers are kept as such, as the tree does with what it reads.
    if let whole = Int(exactly: value), abs(value) < 0x1p53 {
      slot.set(whole)
    } else {
      slot.set(value)
    }
  }
}
