/// An error in a JSON text, or in the tree that it describes, with its position.
///
/// The message names the remedy. A line ends at a line feed; a column counts UTF-8 bytes, not
/// characters, so that both editors and programs can seek to it.
public struct JSONError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error in JSON; kinds may be added, so a `switch` over them needs a default.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable name of the kind, fit for logs and tests.
    public let rawValue: String

    /// Names a kind of error.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable name of the kind.
    public var description: String { rawValue }

    /// The text holds no value at all.
    public static let empty = Code(rawValue: "empty")
    /// The text ends inside a value.
    public static let unexpectedEnd = Code(rawValue: "unexpected-end")
    /// A byte is not allowed by the grammar at its position.
    public static let unexpectedByte = Code(rawValue: "unexpected-byte")
    /// More text follows the one value that a document holds.
    public static let trailingText = Code(rawValue: "trailing-text")
    /// A number breaks the grammar, such as `01`, `+1` or `1.`.
    public static let invalidNumber = Code(rawValue: "invalid-number")
    /// A number whose nearest double is infinite.
    public static let numberOutOfRange = Code(rawValue: "number-out-of-range")
    /// A backslash is followed by something that is no escape.
    public static let invalidEscape = Code(rawValue: "invalid-escape")
    /// A `\u` escape names half of a surrogate pair.
    public static let loneSurrogate = Code(rawValue: "lone-surrogate")
    /// A string contains a raw byte below 0x20.
    public static let controlCharacter = Code(rawValue: "control-character")
    /// The bytes of a string are not UTF-8.
    public static let invalidUTF8 = Code(rawValue: "invalid-utf8")
    /// Arrays and objects are nested deeper than the reader allows.
    public static let tooDeep = Code(rawValue: "too-deep")
    /// One string or number is longer than the reader allows.
    public static let tooLong = Code(rawValue: "too-long")
    /// The text is JSON, but not a valid tree: the message says which rule it breaks.
    public static let invalidTree = Code(rawValue: "invalid-tree")
    /// The source of the bytes failed; `cause` is its error.
    public static let source = Code(rawValue: "source")
    /// The sink of a writer failed; `cause` is its error.
    public static let sink = Code(rawValue: "sink")
  }

  /// The kind of the error.
  public let code: Code
  /// The line, counted from 1; 0 where no text was read.
  public let line: Int
  /// The column in UTF-8 bytes, counted from 1; 0 where no text was read.
  public let column: Int
  /// The error and its remedy.
  public let message: String
  /// The error of the source or the sink, where one of them failed.
  public let cause: (any Error)?

  /// Makes an error.
  /// - Parameters:
  ///   - code: The kind.
  ///   - line: The line, counted from 1, or 0 without a text.
  ///   - column: The column in UTF-8 bytes, counted from 1, or 0 without a text.
  ///   - message: What is wrong and how to mend it.
  ///   - cause: The error below, if there is one.
  public init(
    code: Code, line: Int, column: Int, message: String, cause: (any Error)? = nil
  ) {
    self.code = code
    self.line = line
    self.column = column
    self.message = message
    self.cause = cause
  }

  /// The place, the message and the cause on one line.
  public var description: String {
    let place = line > 0 ? "line \(line), column \(column): " : ""
    return "\(place)\(message) (\(code))" + (cause.map { ": \($0)" } ?? "")
  }
}
