/// An error that refuses data, a key or a path, with a code to act on and a message that says the
/// remedy.
public struct TreeError: Error, Sendable, CustomStringConvertible {
  /// The kind of error, by a stable name that programs may compare.
  public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The code's stable name.
    public let rawValue: String

    /// The code with a stable name; new ones may be added in later versions.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A key is empty, too long, or holds a forbidden character.
    public static let invalidKey = Code(rawValue: "invalid-key")
    /// A whole path is longer than 768 UTF-8 bytes.
    public static let pathTooLong = Code(rawValue: "path-too-long")
    /// A whole path has more than 32 keys.
    public static let pathTooDeep = Code(rawValue: "path-too-deep")
    /// A string is larger than 10 MiB of UTF-8.
    public static let leafTooLarge = Code(rawValue: "leaf-too-large")
    /// A value cannot be stored, such as a number that is not finite.
    public static let invalidValue = Code(rawValue: "invalid-value")
    /// A priority is neither a string, a finite number nor a server value.
    public static let invalidPriority = Code(rawValue: "invalid-priority")
    /// A server value is malformed.
    public static let invalidServerValue = Code(rawValue: "invalid-server-value")
    /// An update writes a place and also the same place or one below it.
    public static let invalidMerge = Code(rawValue: "invalid-merge")
    /// A query is invalid.
    public static let invalidQuery = Code(rawValue: "invalid-query")

    /// The code's stable name.
    public var description: String { rawValue }
  }

  /// What went wrong.
  public let code: Code
  /// A message with the cause and the remedy.
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
