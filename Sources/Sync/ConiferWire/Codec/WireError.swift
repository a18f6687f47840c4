/// Why bytes are no message of the protocol; the connection that they came on is of no more use.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong.
  public enum Code: Hashable, Sendable {
    /// The text is no JSON, or lacks what its kind of message must have.
    case malformed
    /// The text is longer or nested deeper than is taken.
    case tooLarge
  }

  /// What is wrong.
  public var code: Code
  /// What is wrong in words, without data.
  public var message: String

  /// Why bytes are no message.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The words.
  public var description: String { message }
}
