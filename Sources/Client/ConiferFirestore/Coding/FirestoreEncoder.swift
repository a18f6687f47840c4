public import Foundation

extension Firestore {
  /// Encodes values into what `setData` takes.
  ///
  /// `Date`, `Data`, ``Timestamp``, ``GeoPoint``, ``VectorValue``, ``DocumentReference`` and ``FieldValue``
  /// are fields of their own kinds; a `URL` is a string; nil is left out, see ``ExplicitNull``.
  public final class Encoder {
    /// How dates are written.
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

    /// How bytes are written.
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

    /// What fields are called.
    public enum KeyEncodingStrategy {
      /// As the type's keys are.
      case useDefaultKeys
      /// `roomName` becomes `room_name`.
      case convertToSnakeCase
      /// As a function calls it that is given the keys from the document down.
      case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
    }

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
        guard let data = slot.value as? [String: Any] else {
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

  /// What was put in, as `setData` takes it; nil for nothing.
  var value: Any? {
    switch content {
    case .scalar(let value): return value
    case .array(let elements): return elements.map { $0.value ?? NSNull() }
    case .object(let members):
      var dictionary = [String: Any](minimumCapacity: members.count)
      for (key, slot) in members {
        if let value = slot.value { dictionary[key] = value }
      }
      return dictionary
    }
  }
}
