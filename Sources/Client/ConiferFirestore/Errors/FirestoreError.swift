/// An error of a client's call, with a code to act on, a message that says the remedy, and the
/// cause.
public struct FirestoreError: Error, Sendable, CustomStringConvertible {
  /// What went wrong.
  public let code: Code
  /// What went wrong in words, and what to do about it.
  public let message: String
  /// The error underneath, such as the storage's words, if there was one.
  public let cause: String?

  /// An error.
  ///
  /// - Parameters:
  ///   - code: what went wrong.
  ///   - message: what happened and what to do about it, in one or two sentences.
  ///   - cause: the error underneath.
  public init(_ code: Code, _ message: String, cause: String? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// The code, the message and the cause in one line.
  public var description: String {
    cause.map { "\(code): \(message) (\($0))" } ?? "\(code): \(message)"
  }

  /// The error of calls of a database that was terminated.
  static let terminated = FirestoreError(
    .failedPrecondition,
    "The database has been terminated. Take another one from Firestore.firestore(), or make one.")
}
