import ConiferDocument

/// What the tests of writes share.
enum Writes {
  static let database = DatabaseID(project: "p")

  static func path(_ text: String = "c/d") -> DocumentPath {
    guard let path = try? DocumentPath(text) else { preconditionFailure("'\(text)' is no path") }
    return path
  }

  static func field(_ text: String) -> FieldPath {
    guard let field = try? FieldPath(dotted: text) else { preconditionFailure("'\(text)'") }
    return field
  }

  static func time(_ seconds: Int64) -> Timestamp {
    (try? Timestamp(seconds: seconds)) ?? .zero
  }

  static func found(_ fields: MapValue, version: Int64 = 7) -> Document {
    Document(path(), .found(fields), version: time(version), readTime: time(version))
  }

  static let missing = Document(path(), .missing, version: time(7))
  static let unseen = Document(path(), .unseen)
  static let unknown = Document(path(), .unknown, version: time(7))
}
