public import ConiferEngine
public import Foundation

extension Database {
  /// An encoder of `Encodable` values into what `setValue` takes, without JSON text between.
  ///
  /// A `URL` becomes a string; nil, and what is empty, is left out. Keys `.value`, `.priority` and `.sv`
  /// mean what they do in `setValue`. The strategies and their defaults are those of the Apple SDK.
  public final class Encoder {
    /// The form in which `Date` is written.
    public enum DateEncodingStrategy {
      /// As the date itself encodes itself: a number of seconds since 2001.
      case deferredToDate
      /// As a number of seconds since 1970.
      case secondsSince1970
      /// As a number of milliseconds since 1970, as server timestamps are.
      case millisecondsSince1970
      /// As a string of ISO 8601.
      case iso8601
      /// As a string that a formatter makes.
      case formatted(DateFormatter)
      /// As a function encodes it.
      case custom((Date, any Swift.Encoder) throws -> Void)
    }

    /// The form in which `Data` is written.
    public enum DataEncodingStrategy {
      /// As the data itself encodes itself: an array of numbers.
      case deferredToData
      /// As a string of base64.
      case base64
      /// As a function encodes it.
      case custom((Data, any Swift.Encoder) throws -> Void)
    }

    /// What becomes of numbers that are not finite, which the tree does not hold.
    public enum NonConformingFloatEncodingStrategy {
      /// They are an error.
      case `throw`
      /// They are written as these strings.
      case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The names under which coding keys are written.
    public typealias KeyEncodingStrategy = ConiferEngine.KeyEncodingStrategy

    /// How dates are written: as the date encodes itself unless set.
    public var dateEncodingStrategy = DateEncodingStrategy.deferredToDate
    /// How bytes are written: as base64 unless set.
    public var dataEncodingStrategy = DataEncodingStrategy.base64
    /// What becomes of numbers that are not finite: an error unless set.
    public var nonConformingFloatEncodingStrategy = NonConformingFloatEncodingStrategy.throw
    /// What children are called: as the type's keys unless set.
    public var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys
    /// What types are told while they encode.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// An encoder.
    public init() {}

    /// The value in the form that `setValue` takes; `NSNull` for nothing.
    ///
    /// - Parameter value: what to encode.
    /// - Throws: `coding`; the message names the place within the value.
    public func encode(_ value: some Encodable) throws(DatabaseError) -> Any {
      do {
        let slot = EncodingSlot()
        try NodeEncoding(slot: slot, codingPath: [], encoder: self).encode(value)
        return try slot.value(null: NSNull()) ?? NSNull()
      } catch {
        throw DatabaseError(coding: error, "encoded")
      }
    }
  }
}

extension Database.Encoder: EncodingSettings {}

/// An encoder into one slot.
struct NodeEncoding: SlotEncoding {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  let encoder: Database.Encoder
  var keepsKeys = false

  init(slot: EncodingSlot, codingPath: [any CodingKey], encoder: Database.Encoder) {
    self.slot = slot
    self.codingPath = codingPath
    self.encoder = encoder
  }

  func encodeNil() { slot.set(nil) }
  func encode(_ value: Double) throws { try floating(value) }

  /// Encodes a value; types that have a form of their own in the tree come first.
  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let date as Date: try encode(date)
    case let data as Data: try encode(data)
    case let url as URL: slot.set(url.absoluteString)
    case let decimal as Decimal: try floating((decimal as NSDecimalNumber).doubleValue)
    default: try encodePlain(value)
    }
  }

  private func encode(_ date: Date) throws {
    switch encoder.dateEncodingStrategy {
    case .deferredToDate: try date.encode(to: self)
    case .secondsSince1970: try floating(date.timeIntervalSince1970)
    case .millisecondsSince1970: try floating(date.timeIntervalSince1970 * 1000)
    case .iso8601: slot.set(date.formatted(.iso8601))
    case .formatted(let formatter): slot.set(formatter.string(from: date))
    case .custom(let encode): try encode(date, self)
    }
  }

  private func encode(_ data: Data) throws {
    switch encoder.dataEncodingStrategy {
    case .deferredToData: try data.encode(to: self)
    case .base64: slot.set(data.base64EncodedString())
    case .custom(let encode): try encode(data, self)
    }
  }

  private func floating(_ value: Double) throws {
    guard value.isFinite else { return try slot.set(text(of: value)) }
    // Whole numbers are kept as such, as the tree does with what it reads.
    if let whole = Int(exactly: value), abs(value) < 0x1p53 {
      slot.set(whole)
    } else {
      slot.set(value)
    }
  }

  /// The string that stands for a number that is not finite.
  private func text(of value: Double) throws -> String {
    switch encoder.nonConformingFloatEncodingStrategy {
    case .throw: throw refused(value, "the number is not finite")
    case .convertToString(_, _, let nan) where value.isNaN: return nan
    case .convertToString(let positive, let negative, _): return value > 0 ? positive : negative
    }
  }
}
