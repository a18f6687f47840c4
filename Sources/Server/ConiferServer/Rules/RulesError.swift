/// The error with which a rules file is refused, with the line and column of its cause.
public struct RulesError: Error, Hashable, Sendable {
  /// The line, counted from 1.
  public let line: Int
  /// The column in UTF-8 bytes, counted from 1.
  public let column: Int
  /// What is wrong, and the remedy where there is a clear one.
  public let message: String

  /// An error.
  ///
  /// - Parameters:
  ///   - line: the line, counted from 1.
  ///   - column: the column in UTF-8 bytes, counted from 1.
  ///   - message: what is wrong.
  public init(line: Int, column: Int, message: String) {
    self.line = line
    self.column = column
    self.message = message
  }
}

extension RulesError: CustomStringConvertible {
  /// Line, column and message, in the Realtime Database's form: `3:14: Unknown variable 'foo'.`
  public var description: String { "\(line):\(column): \(message)" }
}
