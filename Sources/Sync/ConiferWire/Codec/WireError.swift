/// The error of bytes that are no message of the protocol. The connection that brought them cannot
/// be used further.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Whether a message is malformed or too large.
  public enum Code: Hashable, Sendable {
    /// The text is not JSON, or lacks a member that its kind of message must have.
    case malformed
    /// The text is longer, or nested deeper, than the limit.
    case tooLarge
  }

  /// What is wrong.
  public var code: Code
  /// A message without data.
  public var message: String

  /// Why bytes are no message.
  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The words.
  public var description: String { message }
}
