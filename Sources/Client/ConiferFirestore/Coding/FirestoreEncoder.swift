public import ConiferEngine
public import Foundation

extension Firestore {
  /// An encoder of `Encodable` values into the fields that `setData` takes.
  ///
  /// `Date`, `Data`, ``Timestamp``, ``GeoPoint``, ``VectorValue``, ``DocumentReference`` and ``FieldValue``
  /// are fields of their own kinds; a `URL` is a string; nil is left out, see ``ExplicitNull``.
  public final class Encoder {
    /// The form in which `Date` is written into a field.
    public enum DateEncodingStrategy {
      /// As a timestamp.
      case timestamp
      /// As the date itself encodes itself: a number of seconds since 2001.
      case deferredToDate
      /// As a number of seconds since 1970.
      case secondsSince1970
      /// As a number of milliseconds since 1970.
      case millisecondsSince1970
      /// As a string of ISO 8601.
      case iso8601
      /// As a string that a formatter makes.
      case formatted(DateFormatter)
      /// As a function encodes it.
      case custom((Date, any Swift.Encoder) throws -> Void)
    }

    /// The form in which `Data` is written into a field.
    public enum DataEncodingStrategy {
      /// As bytes.
      case blob
      /// As the data itself encodes itself: an array of numbers.
      case deferredToData
      /// As a string of base64.
      case base64
      /// As a function encodes it.
      case custom((Data, any Swift.Encoder) throws -> Void)
    }

    /// The names of the fields that coding keys are written to.
    public typealias KeyEncodingStrategy = ConiferEngine.KeyEncodingStrategy

    /// How dates are written: as timestamps unless set.
    public var dateEncodingStrategy = DateEncodingStrategy.timestamp
    /// How bytes are written: as bytes unless set.
    public var dataEncodingStrategy = DataEncodingStrategy.blob
    /// What fields are called: as the type's keys unless set.
    public var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys
    /// What types are told while they encode.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// An encoder.
    public init() {}

    /// The fields that a value is.
    ///
    /// - Parameter value: a value that encodes itself by keys.
    /// - Throws: `invalidArgument`; the message names the place within the value.
    public func encode(_ value: some Encodable) throws(FirestoreError) -> [String: Any] {
      do {
        let slot = EncodingSlot()
        try DocumentEncoding(slot: slot, codingPath: [], encoder: self).encode(value)
        guard let data = try slot.value(null: NSNull()) as? [String: Any] else {
          throw EncodingError.invalidValue(
            value, .init(codingPath: [], debugDescription: "the value has no keys"))
        }
        return data
      } catch {
        throw FirestoreError(coding: error, "encoded")
      }
    }
  }
}
