import ConiferDocument
public import ConiferEngine
public import Foundation

extension Firestore {
  /// A decoder of `Decodable` values from the fields of documents.
  ///
  /// Numbers decode as any type that holds them exactly, and as floating point. `Date`, `Data`,
  /// ``Timestamp``, ``GeoPoint``, ``VectorValue`` and ``DocumentReference`` decode from fields of their own
  /// kinds, a `URL` from a string.
  public final class Decoder {
    /// The form in which `Date` is read from a field.
    public enum DateDecodingStrategy {
      /// From a timestamp.
      case timestamp
      /// As the date itself decodes itself: from a number of seconds since 2001.
      case deferredToDate
      /// From a number of seconds since 1970.
      case secondsSince1970
      /// From a number of milliseconds since 1970.
      case millisecondsSince1970
      /// From a string of ISO 8601.
      case iso8601
      /// From a string that a formatter reads.
      case formatted(DateFormatter)
      /// As a function decodes it.
      case custom((any Swift.Decoder) throws -> Date)
    }

    /// The form in which `Data` is read from a field.
    public enum DataDecodingStrategy {
      /// From bytes.
      case blob
      /// As the data itself decodes itself: from an array of numbers.
      case deferredToData
      /// From a string of base64.
      case base64
      /// As a function decodes it.
      case custom((any Swift.Decoder) throws -> Data)
    }

    /// The names of the fields that coding keys are read from.
    public typealias KeyDecodingStrategy = ConiferEngine.KeyDecodingStrategy

    /// How dates are read: from timestamps unless set.
    public var dateDecodingStrategy = DateDecodingStrategy.timestamp
    /// How bytes are read: from bytes unless set.
    public var dataDecodingStrategy = DataDecodingStrategy.blob
    /// Which fields keys are read from: those of the same names unless set.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    /// What types are told while they decode.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// A decoder.
    public init() {}

    /// The value that some data means.
    ///
    /// - Parameters:
    ///   - type: what to make of it.
    ///   - data: fields as ``DocumentSnapshot/data()`` gives them, or one value.
    ///   - document: the document that ``DocumentID`` is told; nil for none.
    /// - Throws: `invalidArgument`; the message names the place within the data.
    public func decode<Value: Decodable>(
      _ type: Value.Type, from data: Any, in document: DocumentReference? = nil
    ) throws(FirestoreError) -> Value {
      let (value, firestore) = try DataReader.decodable(data)
      return try decode(type, from: value, in: document, document?.firestore ?? firestore)
    }

    func decode<Value: Decodable>(
      _ type: Value.Type, from value: DocumentValue, in document: DocumentReference?,
      _ firestore: Firestore?
    ) throws(FirestoreError) -> Value {
      var userInfo = userInfo
      if let document { userInfo.document = document }
      do {
        let context = DecodingContext(decoder: self, userInfo: userInfo, firestore: firestore)
        return try DocumentDecoding(value: value, codingPath: [], context: context).decode(type)
      } catch {
        throw FirestoreError(coding: error, "decoded as \(type)")
      }
    }
  }
}

/// The settings of one decoding, the same at all places of the value.
final class DecodingContext {
  let decoder: Firestore.Decoder
  let userInfo: [CodingUserInfoKey: Any]
  /// The database whose references are decoded.
  let firestore: Firestore?

  init(decoder: Firestore.Decoder, userInfo: [CodingUserInfoKey: Any], firestore: Firestore?) {
    self.decoder = decoder
    self.userInfo = userInfo
    self.firestore = firestore
  }
}
