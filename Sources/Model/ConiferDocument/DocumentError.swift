/// An error that refuses a value, a path, a write or a query of documents, with a code to act on
/// and a message that says the remedy.
public struct DocumentError: Error, Sendable, CustomStringConvertible {
  /// The kind of error, by a stable name that programs may compare.
  public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The code's stable name.
    public let rawValue: String

    /// The code with a stable name; new ones may be added in later versions.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A path of a collection or a document is malformed, or its name is not allowed.
    public static let invalidPath = Code(rawValue: "invalid-path")
    /// A field path or the name of a field is malformed, or its name is not allowed.
    public static let invalidFieldPath = Code(rawValue: "invalid-field-path")
    /// A value cannot be stored, such as an array within an array.
    public static let invalidValue = Code(rawValue: "invalid-value")
    /// A string or bytes are larger than a value may be.
    public static let valueTooLarge = Code(rawValue: "value-too-large")
    /// A document is larger than 1 MiB.
    public static let documentTooLarge = Code(rawValue: "document-too-large")
    /// The writes of a batch or a transaction are more, or larger, than one request may have.
    public static let requestTooLarge = Code(rawValue: "request-too-large")
    /// Maps and arrays are nested deeper than 20 levels.
    public static let tooDeep = Code(rawValue: "too-deep")
    /// A write is invalid, such as the deletion of a field within an array.
    public static let invalidWrite = Code(rawValue: "invalid-write")
    /// A query is invalid, or holds more than a query may.
    public static let invalidQuery = Code(rawValue: "invalid-query")
    /// An answer of the server does not fit the write that it answers.
    public static let invalidAnswer = Code(rawValue: "invalid-answer")
    /// Encoded bytes are not what the encoder writes.
    public static let invalidEncoding = Code(rawValue: "invalid-encoding")

    /// The code's stable name.
    public var description: String { rawValue }
  }

  /// What went wrong.
  public let code: Code
  /// What went wrong in words, with the remedy.
  public let message: String

  /// An error.
  ///
  /// - Parameters:
  ///   - code: what went wrong.
  ///   - message: one or two sentences: what happened, and what to do about it.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The code and the message in one line.
  public var description: String { "\(code): \(message)" }
}
