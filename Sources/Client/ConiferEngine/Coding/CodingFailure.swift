/// A failure of a type's own `Codable` code: where it happened, and why, in words.
package struct CodingFailure {
  /// The coding keys down to the value that failed.
  package let path: [String]
  /// What is wrong there.
  package let words: String

  package init(_ error: any Error) {
    let keys: [any CodingKey]
    switch error {
    case DecodingError.typeMismatch(let type, let context):
      keys = context.codingPath
      words = "\(type) was expected; \(context.debugDescription)"
    case DecodingError.valueNotFound(let type, let context):
      keys = context.codingPath
      words = "\(type) was expected, and there is nothing"
    case DecodingError.keyNotFound(let key, let context):
      keys = context.codingPath + [key]
      words = "there is nothing"
    case DecodingError.dataCorrupted(let context):
      keys = context.codingPath
      words = context.debugDescription
    case EncodingError.invalidValue(_, let context):
      keys = context.codingPath
      words = context.debugDescription
    default:
      keys = []
      words = "\(error)"
    }
    path = keys.map(\.stringValue)
  }
}
