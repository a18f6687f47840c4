/// A type that a ``DocumentID`` property may have, which is `String` for the id, or
/// ``DocumentReference``.
public protocol DocumentIDWrappable {
  /// The value that a document's place is.
  static func wrap(_ documentReference: DocumentReference) throws -> Self
}

extension String: DocumentIDWrappable {
  /// The document's id.
  public static func wrap(_ documentReference: DocumentReference) -> String {
    documentReference.documentID
  }
}

extension DocumentReference: DocumentIDWrappable {
  /// The reference itself.
  public static func wrap(_ documentReference: DocumentReference) -> DocumentReference {
    documentReference
  }
}

/// A property wrapper that is filled with a document's id or reference when it is decoded, and is
/// never written.
///
/// ```swift
/// struct Room: Codable {
///   @DocumentID var id: String?
///   var name: String
/// }
/// ```
@propertyWrapper
public struct DocumentID<Value: DocumentIDWrappable & Codable>: Codable {
  /// The id or the reference; nil in a value that was not read.
  public var wrappedValue: Value?

  /// A place; it is not written.
  public init(wrappedValue value: Value?) { wrappedValue = value }

  /// Reads the place of the document that is decoded.
  public init(from decoder: any Decoder) throws {
    guard let document = decoder.userInfo.document else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "it is not known which document is decoded: name it with in:"))
    }
    wrappedValue = try Value.wrap(document)
  }

  /// Writes nothing.
  public func encode(to encoder: any Encoder) throws {}
}

extension DocumentID: Equatable where Value: Equatable {}
extension DocumentID: Hashable where Value: Hashable {}
extension DocumentID: Sendable where Value: Sendable {}

/// What the decoder knows a ``DocumentID`` of any type by.
protocol DocumentIDField {}

extension DocumentID: DocumentIDField {}

extension [CodingUserInfoKey: Any] {
  /// Where types find the reference of the document that is decoded.
  private static let place = CodingUserInfoKey(rawValue: "ConiferFirestore.documentReference")

  /// The document that is decoded; nil for none.
  var document: DocumentReference? {
    get { Self.place.flatMap { self[$0] as? DocumentReference } }
    set { if let place = Self.place { self[place] = newValue } }
  }
}
