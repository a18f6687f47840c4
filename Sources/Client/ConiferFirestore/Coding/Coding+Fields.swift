// Types that are fields of their own kinds. `Firestore.Encoder` and `Firestore.Decoder` look for them first;
// other coders have no form for them.
extension DocumentReference: Codable {
  /// Fails: only `Firestore.Decoder` reads references.
  public convenience init(from decoder: any Decoder) throws {
    throw DecodingError.typeMismatch(
      DocumentReference.self,
      .init(
        codingPath: decoder.codingPath,
        debugDescription: "only Firestore.Decoder reads references to documents"))
  }

  /// Fails: only `Firestore.Encoder` writes references.
  public func encode(to encoder: any Encoder) throws {
    throw EncodingError.invalidValue(
      self,
      .init(
        codingPath: encoder.codingPath,
        debugDescription: "only Firestore.Encoder writes references to documents"))
  }
}

extension FieldValue: Encodable {
  /// Fails: only `Firestore.Encoder` writes instructions.
  public func encode(to encoder: any Encoder) throws {
    throw EncodingError.invalidValue(
      self,
      .init(
        codingPath: encoder.codingPath,
        debugDescription: "only Firestore.Encoder writes a FieldValue"))
  }
}
